"""The local executor: launches are processes beside the runner, inside the pinned image or on a bare host.

It is no sandbox. The kernel enforces only the CPU set (macOS has none) and the size of a file. Once a second the
runner checks the deadline, the output directory, memory and the number of processes, and kills a launch beyond a
limit. Between two checks a launch may exceed a limit. A child with a session of its own is not counted; it is killed
when the launch ends.
"""

import contextlib
import errno
import json
import os
import resource
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.executors import instructions, threads
from runner.executors.base import AppliedLimits, Examination, LaunchRequest, LaunchResult
from runner.executors.inherited import inherited
from runner.executors.modules import missing_modules
from runner.executors.outputs import empty, most_bytes, overfull_directory, refuse_directory
from runner.executors.process_stdin import ProcessStdin
from runner.executors.usage import can_be_seen, usage_of
from runner.executors.watch import Streams
from runner.images.identity import execution_hash_of
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import CORE, ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution, ExecutionKind
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.system import machine
from runner.system.caller_limits import limits_below
from runner.system.cpus import CpuSet, choose_cpus, usable_cpus
from runner.system.orphans import end_orphans, owner_environment
from runner.system.signals import die_with_parent, end_group, uninterrupted
from runner.system.space import no_space, takes
from runner.system.survivors import no_survivors
from runner.system.topology import topology_here

IMAGE_FILE = "image.json"
_OOM_SCORE = Path("/proc/self/oom_score_adj")
EXECUTION_VARIABLE = "FORGE_BENCH_EXECUTION"
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
# Trusted programs take a second for the longest training.
_EXAMINATION_SECONDS = 120.0
# Less free space than this at the end of a launch is a full disk: its output files may be cut off.
_ROOM_BYTES = 2**20
# The system errors that stop every program from starting, and say nothing about this one.
_OF_THE_HOST = frozenset({errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EIO})
# Where a launch exhausts the host's memory between two checks, the kernel should kill the launch and no other
# process.
_FIRST_TO_GO = "1000"
# Less than every system gives to begin with.
_USUAL = {resource.RLIMIT_STACK: 4 * 2**20, resource.RLIMIT_NOFILE: 256}
# A launch that is still growing gets no time to end by itself.
_GROWING = frozenset({FailureKind.OUT_OF_MEMORY, FailureKind.TOO_MANY_PROCESSES})


class LocalExecutor:
    """Runs launches as child processes."""

    name = "local"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._image = _baked_image(root)

    @property
    def inside_image(self) -> bool:
        """Whether the runner itself runs in a pinned image."""
        return self._image is not None

    def execution(self, platform: Platform) -> Execution:
        """Inside an image only the program that started the container knows the execution; a bare host is native."""
        del platform
        if self._image is None:
            return Execution(kind=ExecutionKind.NATIVE, emulator=None)
        # The program that starts the container sets it to "native", or to "emulated:qemu-aarch64 10.0.2".
        kind, _, emulator = os.environ.get(EXECUTION_VARIABLE, "unknown").partition(":")
        try:
            return Execution(kind=ExecutionKind(kind), emulator=emulator or None)
        except ValueError:
            return Execution(kind=ExecutionKind.UNKNOWN, emulator=None)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """This machine."""
        del platform
        return machine.describe()

    def state(self, platform: Platform) -> dict[str, Any]:
        """The state of this machine."""
        del platform
        return machine.state()

    def away(self, platform: Platform) -> str | None:
        """This machine is there."""
        del platform
        return None

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Why not: another machine or architecture, another image's implementation, or a missing program."""
        if not platform.is_here:
            return f"{platform.name} is another machine; the local executor runs on this one"
        if platform.architecture != machine.architecture():
            return f"this is {machine.architecture()}; the local executor runs what the host is"
        if self._image is not None and implementation.image.name not in (
            self._image["target"],
            CORE.name,
        ):
            return f"needs the image forge-bench:{implementation.image.name}"
        environment = self._environment()
        program = implementation.command[0]
        if shutil.which(program, path=environment.get("PATH")) is None:
            return f'no program "{program}" here'
        # An image holds all that it needs; a host may lack any part.
        missing = () if self.inside_image else missing_modules(implementation.command, environment)
        if missing:
            return f"{program} has no module {', '.join(missing)}"
        return None

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """The last CPUs that this process may use."""
        del platform
        return choose_cpus(limits.cpus, usable_cpus(os.cpu_count() or 1), topology_here())

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The image's own hash, or that of the checkout on a bare host."""
        if self._image is not None:
            return str(self._image["execution_hash"])
        # An image that only a record describes is not here. The checkout replaces it, and counts as another image.
        here = CORE if target.source is None else target
        return f"host:{execution_hash_of(here, toolchain, platform.architecture, self._root)}"

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Nothing is built."""
        del target, toolchain, platform
        return False

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """The image around the runner, or the host; nothing is built."""
        del say
        image = self._image
        return ImageFacts(
            target=str(image["target"]) if image else "host",
            architecture=platform.architecture,
            identity=str(image["identity"]) if image else None,
            execution_hash=self.identify(target, toolchain, platform),
            # A container cannot know the digest of its own image; it knows the identity.
            config_digest=None,
            manifest_digest=None,
        )

    def sweep(self, say: Callable[[str], None]) -> None:
        """End the processes of dead runners."""
        ended = end_orphans()
        if ended:
            say(f"ended what an earlier runner left behind: {len(ended)} processes")

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run the command in a process group of its own."""
        cpus = self.cpus(request.limits, request.platform)
        limits = AppliedLimits.of(request.limits, cpus=cpus, enforced=_enforced())
        if refused := cpus.too_few(request.limits.cpus):
            return LaunchResult(limits=limits, not_started=refused)
        command = list(request.command)
        if request.output_directory is not None:
            command += ["--output", str(request.output_directory)]
        if request.input_directory is not None:
            command += ["--input", str(request.input_directory)]
        environment = {
            **self._environment(),
            **owner_environment(),
            **threads.environment(request.limits),
            **instructions.environment(request.limits),
        }
        confine = _confinement(cpus.cpus, request.limits)
        with no_survivors():
            result = _start(request, command, environment, confine, limits)
        result = replace(result, caller_limits=limits_below(_needed(request.limits)))
        # Only now no process writes there any more.
        result = result if result.not_started is not None else _with_outputs(request, result)
        result = replace(result, examined=self._examined(request, result))
        result.require_own(result.failure)
        return result

    def _examined(self, request: LaunchRequest, result: LaunchResult) -> tuple[Examination, ...]:
        if request.examine is None or request.output_directory is None or result.failure is not None:
            return ()
        commands = request.examine(str(request.output_directory))
        return tuple(_examine(command, self._environment()) for command in commands)

    def _environment(self) -> dict[str, str]:
        return inherited(os.environ, root=self._root, inside_image=self.inside_image)


def _can_pin() -> bool:
    """Whether this system pins a process to CPUs; macOS does not."""
    return hasattr(os, "sched_setaffinity")


def _enforced() -> tuple[str, ...]:
    """The limits that the kernel or the runner enforces here."""
    pinned = ("cpuset",) if _can_pin() else ()
    seen = ("memory_bytes", "pids") if can_be_seen() else ()
    return (*pinned, "deadline", "file-size", "outputs", *seen)


def _confinement(cpus: tuple[int, ...], limits: Limits) -> Callable[[], None]:
    """The function that a child calls before its program starts, so that the limits hold for its children too."""
    most = _largest_file(limits)
    die_with_runner = die_with_parent()
    can_pin = _can_pin()

    def confine() -> None:
        die_with_runner()
        if can_pin:
            os.sched_setaffinity(0, cpus)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        with contextlib.suppress(OSError):
            _OOM_SCORE.write_text(_FIRST_TO_GO, encoding="ascii")

    return confine


def _largest_file(limits: Limits) -> int:
    """Bytes that a file of a launch may have: what the caller of the runner may not go beyond, no child may."""
    _, hardest = resource.getrlimit(resource.RLIMIT_FSIZE)
    return most_bytes(limits) if hardest == resource.RLIM_INFINITY else min(hardest, most_bytes(limits))


def _needed(limits: Limits) -> dict[int, int]:
    """Below which limits of its caller a launch may fail that would not fail elsewhere."""
    needed = {
        resource.RLIMIT_AS: resource.RLIM_INFINITY,
        resource.RLIMIT_DATA: resource.RLIM_INFINITY,
        resource.RLIMIT_CPU: resource.RLIM_INFINITY,
        resource.RLIMIT_NPROC: limits.pids,
        **_USUAL,
    }
    if _largest_file(limits) < most_bytes(limits):
        needed[resource.RLIMIT_FSIZE] = most_bytes(limits)
    return needed


def _start(
    request: LaunchRequest,
    command: Sequence[str],
    environment: Mapping[str, str],
    confine: Callable[[], None],
    limits: AppliedLimits,
) -> LaunchResult:
    started = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if request.on_open is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
                preexec_fn=confine,  # noqa: PLW1509 (no thread runs here)
            )
        return _watch(request, process, limits, started)
    except OSError as error:
        if process is not None or error.errno in _OF_THE_HOST:
            raise
        return LaunchResult(limits=limits, not_started=f"{command[0]}: {error.strerror or error}")
    finally:
        if process is not None:
            with uninterrupted():
                end_group(process, grace_seconds=_GRACE_SECONDS)
                ProcessStdin(process, limits.cpus).close()


def _watch(
    request: LaunchRequest, process: "subprocess.Popen[bytes]", limits: AppliedLimits, started: float
) -> LaunchResult:
    streams = Streams(request.on_line)
    if request.on_open is not None:
        request.on_open(ProcessStdin(process, limits.cpus))
    stopped = _follow(request, process, streams, started)
    # The process may go on after it closed both streams.
    while stopped is None and process.poll() is None:
        left = request.deadline_seconds - (time.monotonic() - started)
        if left <= 0:
            stopped = _deadline_failure(request)
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=min(left, _LOOK_SECONDS))
            break
        stopped = _beyond_limits(request, process.pid)
    wall_seconds = time.monotonic() - started
    growing = stopped is not None and stopped.kind in _GROWING
    end_group(process, grace_seconds=0.0 if growing else _GRACE_SECONDS)
    streams.close(whole=True)
    return LaunchResult(
        limits=limits,
        wall_seconds=wall_seconds,
        exit_code=process.returncode,
        out_of_memory=stopped is not None and stopped.kind is FailureKind.OUT_OF_MEMORY,
        stopped=stopped,
        stderr=streams.stderr.text(),
    )


def _follow(
    request: LaunchRequest, process: "subprocess.Popen[bytes]", streams: Streams, started: float
) -> Failure | None:
    """Read both streams to their ends; or return why the process must be ended first."""
    next_look = started + _LOOK_SECONDS
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]  # pipes, both
        while selector.get_map():
            now = time.monotonic()
            left = request.deadline_seconds - (now - started)
            if left <= 0:
                return _deadline_failure(request)
            if now >= next_look:
                beyond = _beyond_limits(request, process.pid)
                if beyond is not None:
                    return beyond
                next_look = time.monotonic() + _LOOK_SECONDS
            for key, _ in selector.select(timeout=min(left, _LOOK_SECONDS)):
                chunk = os.read(key.fd, 2**16)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    streams.feed(chunk, None)
                else:
                    streams.feed(None, chunk)
            if streams.failure is not None:
                return streams.failure
            # A grandchild may hold the pipes open after the implementation itself has ended.
            if process.poll() is not None and not selector.select(timeout=0.2):
                break
    return None


def _beyond_limits(request: LaunchRequest, session: int) -> Failure | None:
    """The limit that a running launch exceeds, of those that no kernel enforces here."""
    beyond = usage_of(session, exact_beyond=request.limits.memory_bytes).over(request.limits)
    if beyond is None and request.output_directory is not None:
        beyond = overfull_directory(request.output_directory, most_bytes(request.limits))
    return beyond


def _with_outputs(request: LaunchRequest, result: LaunchResult) -> LaunchResult:
    """The result of the launch, with its output directory checked.

    Raises:
        NoSpace: the output may be cut off with any exit code, so it says nothing about the implementation.
    """
    if request.output_directory is None:
        return result
    full = not takes(request.output_directory, _ROOM_BYTES)
    refused = _take_outputs(request, ended_well=result.stopped is None and result.exit_code == 0)
    if full and refused is None:
        raise no_space("a launch had no room for its outputs", f"the disk of {tempfile.gettempdir()} is full")
    return replace(result, refused=refused)


def _examine(command: Sequence[str], environment: Mapping[str, str]) -> Examination:
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_EXAMINATION_SECONDS,
        )
    except FileNotFoundError:
        # On a bare host the program may be missing: then nobody examines anything.
        return Examination(exit_code=None)
    except subprocess.TimeoutExpired:
        return Examination(exit_code=-1, stderr=f"no answer within {_EXAMINATION_SECONDS:g} s")
    return Examination(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _take_outputs(request: LaunchRequest, *, ended_well: bool) -> Failure | None:
    """Check the output files. Refused files, and those of a failed launch, are removed."""
    directory = request.output_directory
    if directory is None:
        return None
    look = refuse_directory if ended_well else overfull_directory
    refused = look(directory, most_bytes(request.limits))
    if refused is not None or not ended_well:
        empty(directory)
    return refused


def _deadline_failure(request: LaunchRequest) -> Failure:
    return Failure(kind=FailureKind.DEADLINE, detail=f"killed after {request.deadline_seconds:g} s")


def _baked_image(root: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((root / IMAGE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
