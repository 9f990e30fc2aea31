"""The local executor: launches are processes beside the runner, inside the pinned image or on a bare host.

Of the limits it can enforce the CPU set and the deadline; memory and pids are the container's business, and the
record says so.
"""

import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from runner import machine
from runner.execution import Execution, ExecutionKind
from runner.executors.base import AppliedLimits, ImageFacts, LaunchRequest, LaunchResult
from runner.executors.orphans import end_orphans, owner_environment
from runner.executors.watch import StderrTail, StdoutLines
from runner.images.identity import identify
from runner.images.spec import ImageSpec, Toolchain
from runner.matrix import Implementation, Limits, Platform
from runner.signals import die_with_parent, uninterrupted

IMAGE_FILE = "image.json"
EXECUTION_VARIABLE = "FORGE_BENCH_EXECUTION"
_GRACE_SECONDS = 5.0


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
        """Inside an image only whoever started the container knows; a bare host is itself."""
        del platform
        if self._image is None:
            return Execution(kind=ExecutionKind.NATIVE)
        # Given by whoever started the container as "native", or "emulated:qemu-aarch64 10.0.2".
        kind, _, emulator = os.environ.get(EXECUTION_VARIABLE, "unknown").partition(":")
        try:
            return Execution(kind=ExecutionKind(kind), emulator=emulator or None)
        except ValueError:
            return Execution(kind=ExecutionKind.UNKNOWN)

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Another architecture, another image's implementation, or a program that is not there."""
        if platform.architecture != machine.architecture():
            return f"this is {machine.architecture()}; the local executor runs what the host is"
        if self._image is not None and implementation.image not in (self._image["target"], "core"):
            return f"needs the image forge-bench:{implementation.image}"
        if shutil.which(implementation.command[0]) is None:
            return f'no program "{implementation.command[0]}" here'
        return None

    def identify(self, target: str, toolchain: Toolchain, platform: Platform) -> str:
        """The image's own hash, or that of the checkout on a bare host."""
        if self._image is not None:
            return str(self._image["execution_hash"])
        spec = ImageSpec(target=target, architecture=platform.architecture, toolchain=toolchain)
        return f"host:{identify(spec, self._root).execution_hash}"

    def prepare(
        self, target: str, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Nothing is built here."""
        del say
        image = self._image
        return ImageFacts(
            target=str(image["target"]) if image else "host",
            architecture=platform.architecture,
            identity=str(image["identity"]) if image else None,
            execution_hash=self.identify(target, toolchain, platform),
            # A container cannot know the digest of its own image; it knows what it was made from.
            config_digest=None,
            manifest_digest=None,
        )

    def sweep(self, say: Callable[[str], None]) -> None:
        """End the processes of runners that are gone."""
        ended = end_orphans()
        if ended:
            say(f"ended what an earlier runner left behind: {len(ended)} processes")

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run the command in a process group of its own."""
        cpus = _cpu_set(request.limits)
        command = list(request.command)
        if request.output_directory is not None:
            command += ["--output", str(request.output_directory)]
        if request.input_directory is not None:
            command += ["--input", str(request.input_directory)]
        environment = {
            **os.environ,
            **owner_environment(),
            "FORGE_BENCH_THREADS": str(request.limits.threads),
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(self._root), os.environ.get("PYTHONPATH")])
        )
        die_with_runner = die_with_parent()

        def before_its_program() -> None:
            die_with_runner()
            os.sched_setaffinity(0, cpus)

        started = time.monotonic()
        process: subprocess.Popen[bytes] | None = None
        try:
            with uninterrupted():
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=before_its_program,  # noqa: PLW1509 (no thread runs here)
                )
            return _watch(request, process, cpus, started)
        except OSError as error:
            if process is not None:
                raise
            return _result(request, cpus, started, not_started=f"{command[0]}: {error.strerror or error}")
        finally:
            if process is not None:
                with uninterrupted():
                    _kill_group(process)


def _watch(
    request: LaunchRequest, process: "subprocess.Popen[bytes]", cpus: set[int], started: float
) -> LaunchResult:
    lines, tail = StdoutLines(request.on_line), StderrTail()
    deadline_passed = False
    with selectors.DefaultSelector() as selector:
        feeds: Mapping[Any, Callable[[bytes], None]] = {process.stdout: lines.feed, process.stderr: tail.feed}
        for stream in feeds:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and not lines.overflowed:
            left = request.deadline_seconds - (time.monotonic() - started)
            if left <= 0:
                deadline_passed = True
                break
            for key, _ in selector.select(timeout=min(left, 1.0)):
                chunk = os.read(key.fd, 2**16)
                if chunk:
                    feeds[key.fileobj](chunk)
                else:
                    selector.unregister(key.fileobj)
            # A grandchild may hold the pipes open after the implementation itself has ended.
            if process.poll() is not None and not selector.select(timeout=0.2):
                break
    if not deadline_passed and not lines.overflowed:
        try:
            process.wait(timeout=max(0.1, request.deadline_seconds - (time.monotonic() - started)))
        except subprocess.TimeoutExpired:
            deadline_passed = True
    wall_seconds = time.monotonic() - started
    _kill_group(process)
    lines.close()
    return _result(
        request,
        cpus,
        started,
        wall_seconds=wall_seconds,
        exit_code=process.returncode,
        deadline_passed=deadline_passed,
        too_much_output=lines.overflowed,
        stderr=tail.text(),
    )


def _result(
    request: LaunchRequest,
    cpus: set[int],
    started: float,
    *,
    wall_seconds: float | None = None,
    exit_code: int | None = None,
    deadline_passed: bool = False,
    too_much_output: bool = False,
    not_started: str | None = None,
    stderr: str = "",
) -> LaunchResult:
    return LaunchResult(
        exit_code=exit_code,
        out_of_memory=False,
        deadline_passed=deadline_passed,
        too_much_output=too_much_output,
        not_started=not_started,
        wall_seconds=time.monotonic() - started if wall_seconds is None else wall_seconds,
        stderr=stderr,
        limits=AppliedLimits(
            cpuset=",".join(str(cpu) for cpu in sorted(cpus)),
            memory_bytes=request.limits.memory_bytes,
            pids=request.limits.pids,
            threads=request.limits.threads,
            enforced=("cpuset", "deadline"),
        ),
    )


def _cpu_set(limits: Limits) -> set[int]:
    """The last CPUs that this process may use: the first is where a host's own work tends to run."""
    allowed = sorted(psutil.Process().cpu_affinity())
    return set(allowed[-limits.cpus :])


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End the whole process group: politely, then not."""
    for number, patience in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, _GRACE_SECONDS)):
        if process.poll() is None:
            _signal_group(process.pid, number)
            try:
                process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                continue
    # The leader is gone; whatever it left behind in its group goes too.
    _signal_group(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _baked_image(root: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((root / IMAGE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
