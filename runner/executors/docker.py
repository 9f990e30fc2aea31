"""The docker executor: each launch runs in a container of the pinned image.

Inputs and outputs pass through anonymous volumes of a second container (keeper.py) and the daemon's archive calls.
Bind mounts are never used. So the executor works over any connection to a daemon, and no container can reach a file
of the host.
"""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from docker.errors import APIError
from docker.models.containers import Container

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors import instructions, threads
from runner.executors.attached import Chunk, Output, Witness, attach, connection_broke, in_one_line
from runner.executors.base import AppliedLimits, Examination, LaunchRequest, LaunchResult
from runner.executors.container_stdin import ContainerStdin
from runner.executors.containers import Removal, create_container, require_environment
from runner.executors.keeper import INPUTS, OUTPUTS, Keeper, keeper
from runner.executors.site import Site
from runner.executors.sweep import owner_labels, sweep
from runner.executors.watch import Streams
from runner.images.identity import execution_hash_of
from runner.images.spec import ImageSpec
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.system.cpus import CpuSet, choose_cpus, cpu_beside
from runner.system.errors import DockerUnavailable
from runner.system.meanwhile import meanwhile
from runner.system.orphans import end_orphans
from runner.system.signals import uninterrupted
from runner.system.space import is_exhausted, is_full, no_space

# The limits that the executor, namespaces and mounts enforce. The daemon reports those of the kernel's control
# groups.
_ENFORCED = ("deadline", "network", "read-only", "outputs")
_GOING = ("removing", "dead")
_INIT_FAILED = (126, 127)
_INIT_SAYS = "[FATAL tini"
# The time for a killed container to end, and for its last bytes to arrive.
_PATIENCE_SECONDS = 60


class DockerExecutor:
    """Runs each launch in a separate container."""

    name = "docker"

    def __init__(self, site: Site, root: Path) -> None:
        """Run containers at ``site``, in images of the checkout at ``root``."""
        self._site = site
        self._root = root
        self._client = site.client
        self._enforced = (*site.enforced, *_ENFORCED)
        # By digests, which stand for all that an image holds. A question to another machine costs a round trip.
        self._variables: dict[str, tuple[str, ...]] = {}

    def execution(self, platform: Platform) -> Execution:
        """As the daemon's machine executes that architecture."""
        return self._site.execution(platform.architecture)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """The daemon's."""
        del platform
        return self._site.machine()

    def state(self, platform: Platform) -> dict[str, Any]:
        """The state of the daemon's machine."""
        del platform
        return self._site.state()

    def away(self, platform: Platform) -> str | None:
        """A daemon that answered is there."""
        del platform
        return None

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Every image can be built here. Without limits nothing is measured."""
        del implementation, platform
        return self._site.unlimited

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """The daemon's last CPUs. Shared cores are known only where its machine can be read."""
        del platform
        return choose_cpus(limits.cpus, self._site.cpus, self._site.topology)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The hash of the image's inputs, without the runner and the templates."""
        return execution_hash_of(target, toolchain, platform.architecture, self._root)

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Whether the machine of the daemon lacks it and makes it."""
        spec = ImageSpec(target=target, architecture=platform.architecture, toolchain=toolchain)
        return self._site.must_build(spec)

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Pull, build or transfer the image unless it is there."""
        spec = ImageSpec(target=target, architecture=platform.architecture, toolchain=toolchain)
        image = self._site.ensure(spec, say)
        return ImageFacts(
            target=target.name,
            architecture=platform.architecture,
            identity=image.identity,
            execution_hash=image.execution_hash,
            config_digest=image.config_digest,
            manifest_digest=image.manifest_digest,
        )

    def sweep(self, say: Callable[[str], None]) -> None:
        """Remove the containers and volumes of dead runners, and end the processes that they had started."""
        end_orphans()
        found = sweep(self._client)
        if found.containers or found.volumes:
            say(
                f"removed what an earlier runner left behind: {len(found.containers)} containers, "
                f"{len(found.volumes)} volumes"
            )

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Create, fill, run, watch, empty and remove one container, and the keeper beside it.

        A request to another machine costs a round trip, so requests that do not need each other's answers are made at
        the same time: before the start, and after the end. In between there is only the launch.
        """
        cpus = self.cpus(request.limits, request.platform)
        limits = AppliedLimits.of(request.limits, cpus=cpus, enforced=self._enforced)
        if refused := cpus.too_few(request.limits.cpus):
            return LaunchResult(limits=limits, not_started=refused)
        try:
            # The stack unwinds in reverse order, because a keeper's volumes can be removed only when no container
            # uses them.
            with contextlib.ExitStack() as stack:
                try:
                    beside = self._keeper(request, cpus, stack)
                    container, removal = stack.enter_context(self._container(request, limits, beside))
                    checked = meanwhile(partial(self._require_environment, container, request))
                    attaching = meanwhile(partial(self._attached, container, request, limits))
                    if beside is not None:
                        beside.started()
                        if request.input_directory is not None:
                            beside.fill(request.input_directory)
                    stdin, chunks = attaching.result()
                    if stdin is not None:
                        stack.callback(stdin.close)
                    checked.result()
                except APIError as error:
                    return _refused(error, limits)
                return _run(request, container, removal, beside, limits, stdin, chunks)
        except BROKEN_CONNECTION as error:
            raise connection_broke(in_one_line(error)) from error

    def _variables_of(self, image: str) -> tuple[str, ...]:
        """The variables of an image, given its digest."""
        if image not in self._variables:
            self._variables[image] = tuple(self._client.images.get(image).attrs["Config"].get("Env") or ())
        return self._variables[image]

    def _require_environment(self, container: Container, request: LaunchRequest) -> None:
        of_image = self._variables_of(_digest(request.image))
        require_environment(container, of_image, _environment(request))

    def _attached(
        self, container: Container, request: LaunchRequest, limits: AppliedLimits
    ) -> tuple[ContainerStdin | None, Iterator[Chunk]]:
        """The launch's streams, before the start: the daemon keeps no log and no byte may be missed.

        They are attached one after the other. Podman makes a container's processes ready when the first is, and refuses
        then what Docker refuses at the start.
        """
        stdin = None
        if request.on_open is not None:
            stdin = ContainerStdin(container, self._site.outside(container, limits.cpus))
        return stdin, attach(container)

    def _keeper(self, request: LaunchRequest, cpus: CpuSet, stack: contextlib.ExitStack) -> Keeper | None:
        if request.output_directory is None and request.input_directory is None:
            return None
        image = _digest(request.keeper_image or request.image)
        return stack.enter_context(
            keeper(
                self._client,
                image=image,
                of_image=self._variables_of(image),
                labels=owner_labels(request.deadline_seconds),
                limits=request.limits,
                cpuset=cpu_beside(cpus, self._site.cpus, self._site.topology),
                inputs=request.input_directory is not None,
            )
        )

    @contextlib.contextmanager
    def _container(
        self, request: LaunchRequest, limits: AppliedLimits, beside: Keeper | None
    ) -> Iterator[tuple[Container, Removal]]:
        command = list(request.command)
        if request.output_directory is not None:
            command += ["--output", OUTPUTS]
        if request.input_directory is not None:
            command += ["--input", INPUTS]
        removal: Removal | None = None
        try:
            # An interrupt during this block waits until the container's id is known for the removal.
            with uninterrupted():
                container = create_container(
                    self._client,
                    image=_digest(request.image),
                    command=command,
                    name=f"forge-bench-{request.name}-{uuid.uuid4().hex[:8]}",
                    labels=owner_labels(request.deadline_seconds),
                    limits=request.limits,
                    cpuset=limits.cpuset,
                    deadline_seconds=request.deadline_seconds,
                    mounts=beside.mounts if beside else (),
                    executable_tmp=request.executable_tmp,
                    stdin_open=request.on_open is not None,
                    environment=_environment(request),
                )
                removal = Removal(container)
            yield container, removal
        finally:
            if removal is not None:
                removal.finish()


def _run(
    request: LaunchRequest,
    container: Container,
    removal: Removal,
    beside: Keeper | None,
    limits: AppliedLimits,
    stdin: ContainerStdin | None,
    chunks: Iterator[Chunk],
) -> LaunchResult:
    output = Output(chunks, Streams(request.on_line), name=request.name)
    started = time.monotonic()
    try:
        container.start()
    except APIError as error:
        return _refused(error, limits)
    witness = Witness(container, name=request.name)
    if stdin is not None and request.on_open is not None:
        stdin.started()
        request.on_open(stdin)
    output.start()
    stopped = None
    if not output.wait(request.deadline_seconds - (time.monotonic() - started)):
        stopped = _deadline_failure(container, request)
    elif output.streams.failure is not None:
        stopped = output.streams.failure
    if stopped is not None:
        with contextlib.suppress(APIError):
            container.kill()
    wall_seconds = time.monotonic() - started
    try:
        ended_well = _require_whole(output, witness, stopped) == 0 and stopped is None
        ending = meanwhile(partial(_last_state, container, removal))
        refused = None
        examined: tuple[Examination, ...] = ()
        if beside is not None and request.output_directory is not None:
            refused = beside.fetch(request.output_directory) if ended_well else beside.full()
            if ended_well and refused is None and request.examine is not None:
                examined = tuple(beside.examine(command) for command in request.examine(OUTPUTS))
        state = ending.result()
    except APIError as error:
        _raise_of_host(error)
        # Another program removed the container, or its keeper, during the launch.
        stopped = stopped or _lost(error)
        return LaunchResult(limits=limits, wall_seconds=wall_seconds, stopped=stopped, stderr=output.stderr)
    if state["Status"] in _GOING:
        stopped = stopped or _lost(RuntimeError("another program removed the container"))
    return LaunchResult(
        limits=limits,
        wall_seconds=wall_seconds,
        exit_code=_exit_code(int(state["ExitCode"])),
        out_of_memory=bool(state["OOMKilled"]),
        not_started=_not_started(int(state["ExitCode"]), output.stderr),
        stopped=stopped,
        refused=refused,
        stderr=output.stderr,
        examined=examined,
    )


def _environment(request: LaunchRequest) -> dict[str, str]:
    """The variables that a launch gets beside its image's."""
    return {
        **threads.environment(request.limits),
        **instructions.environment(request.limits),
        "HOME": "/tmp",  # noqa: S108 (inside the container)
    }


def _last_state(container: Container, removal: Removal) -> dict[str, Any]:
    """How a container ended. Once that is known the container is no longer needed, and its removal begins."""
    container.reload()
    state: dict[str, Any] = container.attrs["State"]
    removal.begin()
    return state


def _require_whole(output: Output, witness: Witness, stopped: Failure | None) -> int | None:
    """Wait for the end of a launch, and raise where a broken connection cut off its output; return its exit code.

    Raises:
        DockerUnavailable: the lost output may be its measurement, so the launch says nothing about the
            implementation.
    """
    broke = None
    if stopped is None:
        broke = witness.contradiction()
    else:
        witness.ended(_PATIENCE_SECONDS)
    broke = output.finish(_PATIENCE_SECONDS) or broke
    if broke is not None and stopped is None:
        raise connection_broke(broke)
    return witness.exit_code


def _deadline_failure(container: Container, request: LaunchRequest) -> Failure:
    """Why the runner killed the launch.

    It counts the processes first, to recognise a launch at its limit of processes.
    """
    running = None
    with contextlib.suppress(*BROKEN_CONNECTION, KeyError, TypeError):
        seen: Any = container.stats(stream=False, one_shot=True)
        running = int(seen["pids_stats"]["current"])
    after = f"killed after {request.deadline_seconds:g} s"
    if running is not None and running >= request.limits.pids:
        detail = f"{after} with {running} processes and threads, as many as it may have"
        return Failure(kind=FailureKind.TOO_MANY_PROCESSES, detail=detail)
    return Failure(kind=FailureKind.DEADLINE, detail=after)


def _not_started(exit_code: int, stderr: str) -> str | None:
    """Why the daemon's init could not start the program, or None.

    Without this check a missing program looks like one that ran and failed.
    """
    if exit_code not in _INIT_FAILED or not stderr.startswith(_INIT_SAYS):
        return None
    return stderr.partition("] ")[2].partition("\n")[0]


def _refused(error: APIError, limits: AppliedLimits) -> LaunchResult:
    """A launch that the daemon refused to start."""
    _raise_of_host(error)
    return LaunchResult(limits=limits, not_started=in_one_line(error))


def _raise_of_host(error: APIError) -> None:
    """Raise an error that is the fault of the daemon's machine, and so not a failed cell."""
    what = "the Docker daemon could not serve a launch"
    if is_full(str(error)):
        raise no_space(what, in_one_line(error)) from error
    if is_exhausted(str(error)):
        raise DockerUnavailable(
            what=what,
            why=in_one_line(error),
            fix="see what the daemon's machine runs out of (docker info; journalctl -k; ulimit -n), then run again: "
            "finished cells are stored",
        ) from error


def _lost(error: Exception) -> Failure:
    return Failure(kind=FailureKind.LOST, detail=in_one_line(error))


def _exit_code(code: int) -> int:
    """The exit code, with 128 + signal turned into the negative signal number. There are 64 signals."""
    return 128 - code if 128 < code <= 128 + 64 else code  # noqa: PLR2004 (as the line above says)


def _digest(image: ImageFacts) -> str:
    if image.config_digest is None:
        raise ValueError("a container needs an image")
    return image.config_digest
