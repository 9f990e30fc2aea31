"""The docker executor: a container of the pinned image per launch.

Inputs and outputs travel through anonymous volumes and the daemon's archive calls, never through bind mounts: so it
works over any connection to a daemon, and no file of the host is in a container's reach.
"""

import contextlib
import io
import tarfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

import docker
from runner.errors import DockerUnavailable
from runner.execution import Execution, ExecutionKind
from runner.executors.base import AppliedLimits, ImageFacts, LaunchRequest, LaunchResult
from runner.executors.sweep import owner_labels, sweep
from runner.executors.watch import StderrTail, StdoutLines
from runner.host.connection import connect
from runner.host.emulation import emulator_of
from runner.images.build import ensure_image
from runner.images.identity import identify
from runner.images.spec import ImageSpec, Toolchain
from runner.matrix import Implementation, Limits, Platform
from runner.signals import uninterrupted
from runner.store import tree

_USER = 65532
_INPUTS, _OUTPUTS = "/inputs", "/outputs"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_KILLED = 137
_LARGEST_TOTAL_OUTPUT = 2 * 2**30


class DockerExecutor:
    """Runs each launch in a container of its own."""

    name = "docker"

    def __init__(self, root: Path, log_directory: Path) -> None:
        self._root = root
        self._log_directory = log_directory
        # The very daemon that the command line builds on: it may be a context's.
        self._client, information = connect(timeout=60)
        self._architecture = _ARCHITECTURES.get(information["Architecture"], information["Architecture"])
        self._cpus = int(information["NCPU"])

    def execution(self, platform: Platform) -> Execution:
        """Native where the daemon's machine has that architecture."""
        if platform.architecture == self._architecture:
            return Execution(kind=ExecutionKind.NATIVE)
        return Execution(kind=ExecutionKind.EMULATED, emulator=emulator_of(platform.architecture))

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Every image can be built here."""
        del implementation, platform
        return None

    def identify(self, target: str, toolchain: Toolchain, platform: Platform) -> str:
        """The hash of the image's inputs but for the runner and the templates."""
        return identify(self._spec(target, toolchain, platform), self._root).execution_hash

    def prepare(
        self, target: str, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Build the image unless it is there."""
        image = ensure_image(
            self._spec(target, toolchain, platform),
            root=self._root,
            log_directory=self._log_directory,
            say=say,
        )
        return ImageFacts(
            target=target,
            architecture=platform.architecture,
            identity=image.identity,
            execution_hash=image.execution_hash,
            config_digest=image.config_digest,
            manifest_digest=image.manifest_digest,
        )

    def sweep(self, say: Callable[[str], None]) -> None:
        """Remove the containers and volumes of runners that are gone."""
        found = sweep(self._client)
        if found.containers or found.volumes:
            say(
                f"removed what an earlier runner left behind: {len(found.containers)} containers, "
                f"{len(found.volumes)} volumes"
            )

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Create, fill, run, watch, empty and remove one container."""
        cpuset = _cpu_set(request.limits, self._cpus)
        started = time.monotonic()
        container: Container | None = None
        try:
            with uninterrupted():
                container = self._create(request, cpuset)
            if request.input_directory is not None:
                container.put_archive(_INPUTS, _pack(request.input_directory))
            started = time.monotonic()
            result = self._run(request, container, cpuset)
            if result.exit_code == 0 and request.output_directory is not None:
                _fetch_outputs(container, request.output_directory)
        except (APIError, NotFound) as error:
            return _result(request, cpuset, time.monotonic() - started, not_started=_one_line(error))
        except (DockerException, requests.RequestException) as error:
            raise DockerUnavailable(
                what="the connection to the Docker daemon broke",
                why=_one_line(error),
                fix="see that the daemon runs, then call again: finished cells are stored",
            ) from error
        finally:
            if container is not None:
                with uninterrupted(), contextlib.suppress(DockerException, requests.RequestException):
                    container.remove(force=True, v=True)
        return result

    def _create(self, request: LaunchRequest, cpuset: str) -> Container:
        digest = request.image.config_digest
        if digest is None:
            raise ValueError("a container needs an image")
        command, volumes = list(request.command), []
        if request.output_directory is not None:
            command += ["--output", _OUTPUTS]
            volumes.append(_OUTPUTS)
        if request.input_directory is not None:
            command += ["--input", _INPUTS]
            volumes.append(_INPUTS)
        threads = str(request.limits.threads)
        # Two runners on one machine tell their containers and volumes apart by these.
        labels = owner_labels(request.deadline_seconds)
        # No dictionary of unknown origin is spread in here: what a container may do stands in this one place.
        return self._client.containers.create(
            digest,
            entrypoint=command[:1],
            command=command[1:],
            name=f"forge-bench-{request.name}-{uuid.uuid4().hex[:8]}",
            labels=labels,
            user=f"{_USER}:{_USER}",
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            cpuset_cpus=cpuset,
            mem_limit=request.limits.memory_bytes,
            memswap_limit=request.limits.memory_bytes,
            pids_limit=request.limits.pids,
            init=True,
            tmpfs={"/tmp": "size=256m,mode=1777"},  # noqa: S108 (inside the container)
            mounts=[
                docker.types.Mount(target=path, source=None, type="volume", labels=labels) for path in volumes
            ],
            environment={
                "FORGE_BENCH_THREADS": threads,
                "OMP_NUM_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "MKL_NUM_THREADS": threads,
                "HOME": "/tmp",  # noqa: S108
            },
            log_config=docker.types.LogConfig(type="none"),
        )

    def _run(self, request: LaunchRequest, container: Container, cpuset: str) -> LaunchResult:
        lines, tail = StdoutLines(request.on_line), StderrTail()
        # Attached before the start, so that not a byte is missed; the daemon keeps no log of its own.
        streams = container.attach(stdout=True, stderr=True, stream=True, logs=False, demux=True)
        problem: list[Exception] = []

        def read() -> None:
            try:
                for stdout, stderr in streams:
                    if stdout:
                        lines.feed(stdout)
                    if stderr:
                        tail.feed(stderr)
            except (OSError, ValueError, DockerException, requests.RequestException) as error:
                problem.append(error)

        reader = threading.Thread(target=read, name=f"read-{request.name}", daemon=True)
        started = time.monotonic()
        container.start()
        reader.start()
        deadline_passed = False
        while reader.is_alive():
            left = request.deadline_seconds - (time.monotonic() - started)
            if left <= 0 or lines.overflowed:
                deadline_passed = left <= 0
                with contextlib.suppress(APIError):
                    container.kill()
                break
            reader.join(timeout=min(left, 0.1))
        wall_seconds = time.monotonic() - started
        reader.join(timeout=30)
        container.wait(timeout=30)
        container.reload()
        state = container.attrs["State"]
        if not reader.is_alive():
            lines.close()
        exit_code = int(state["ExitCode"])
        return _result(
            request,
            cpuset,
            wall_seconds,
            exit_code=128 - exit_code if exit_code > 128 else exit_code,  # noqa: PLR2004 (128 + signal, by convention)
            # OOMKilled is also true when only a child was killed and the whole ended well: judge by both.
            out_of_memory=bool(state["OOMKilled"]) and exit_code != 0 and not deadline_passed,
            deadline_passed=deadline_passed,
            too_much_output=lines.overflowed,
            not_started=_one_line(problem[0]) if problem and exit_code == 0 else None,
            stderr=tail.text(),
        )

    def _spec(self, target: str, toolchain: Toolchain, platform: Platform) -> ImageSpec:
        return ImageSpec(target=target, architecture=platform.architecture, toolchain=toolchain)


def _result(
    request: LaunchRequest,
    cpuset: str,
    wall_seconds: float,
    *,
    exit_code: int | None = None,
    out_of_memory: bool = False,
    deadline_passed: bool = False,
    too_much_output: bool = False,
    not_started: str | None = None,
    stderr: str = "",
) -> LaunchResult:
    return LaunchResult(
        exit_code=exit_code,
        out_of_memory=out_of_memory,
        deadline_passed=deadline_passed,
        too_much_output=too_much_output,
        not_started=not_started,
        wall_seconds=wall_seconds,
        stderr=stderr,
        limits=AppliedLimits(
            cpuset=cpuset,
            memory_bytes=request.limits.memory_bytes,
            pids=request.limits.pids,
            threads=request.limits.threads,
            enforced=("cpuset", "memory_bytes", "swap", "pids", "deadline", "network", "read-only"),
        ),
    )


def _cpu_set(limits: Limits, cpus: int) -> str:
    """The last CPUs of the daemon's machine: the first is where a host's own work tends to run."""
    return ",".join(str(cpu) for cpu in range(max(0, cpus - limits.cpus), cpus))


def _pack(directory: Path) -> bytes:
    """The directory as a tar archive that belongs to the container's user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in tree(directory):
            entry = archive.gettarinfo(path, arcname=str(path.relative_to(directory)))
            entry.uid = entry.gid = _USER
            entry.uname = entry.gname = ""
            entry.mode = 0o444
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


def _fetch_outputs(container: Container, directory: Path) -> None:
    """Unpack what the launch wrote: regular files only, below ``directory`` only, up to a bound."""
    stream, _ = container.get_archive(_OUTPUTS)
    with tarfile.open(fileobj=_Chunks(stream), mode="r|") as archive:
        for entry in archive:
            relative = Path(*Path(entry.name).parts[1:])
            target = (directory / relative).resolve()
            if not entry.isfile() or not target.is_relative_to(directory.resolve()):
                continue
            file = archive.extractfile(entry)
            if file is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    while block := file.read(2**20):
                        out.write(block)


class _Chunks(io.RawIOBase):
    """A stream of byte chunks as a file, with a bound on the whole."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = b""
        self._taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._taken += count
        if self._taken > _LARGEST_TOTAL_OUTPUT:
            raise tarfile.ReadError(f"more than {_LARGEST_TOTAL_OUTPUT} bytes of output")
        return count


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
