"""The interface of every executor, and the input and result of one launch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from runner.executors.channel import Channel
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.system.caller_limits import host_limited
from runner.system.cpus import CpuSet
from runner.system.printable import last_line
from runner.system.signals import signal_name

# The failures of a process that went on after it lost a child at the memory limit.
_NOT_DELIVERED = frozenset({FailureKind.MISSING_MEASUREMENT, FailureKind.MISSING_OUTPUT})
# How a program ends that a limit keeps from its work: at once, or without part of what it was to deliver.
_MAY_BE_THE_CALLERS = _NOT_DELIVERED | {
    FailureKind.NOT_STARTED,
    FailureKind.EXIT_CODE,
    FailureKind.SIGNAL,
    FailureKind.UNREADABLE_OUTPUT,
}


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What a trusted program made of a launch's output files.

    ``exit_code`` is None where there is no such program. The program's own image is the core image, so nothing that it
    says is the implementation's word.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""


# From the folder of the outputs, as the program sees it, to the commands that read them.
Examine = Callable[[str], Sequence[tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class LaunchRequest:
    """One process to start.

    ``command`` lacks only ``--input`` and ``--output``. The executor adds these with paths of its own where the
    runner gives directories. One directory is read; the other is empty and receives the launch's files.
    ``on_line`` gets each line of stdout and the time at which it was read. With an ``on_open`` stdin stays open, and
    ``on_open`` gets the channel to it once the process has started.
    ``keeper_image`` is an image that holds ``sleep``; None where ``image`` holds it. ``executable_tmp`` is whether
    the launch may execute what it writes to /tmp. ``examine`` gives trusted commands that read the outputs of a launch
    that ended well.
    """

    name: str
    image: ImageFacts
    platform: Platform
    command: tuple[str, ...]
    limits: Limits
    deadline_seconds: float
    input_directory: Path | None
    output_directory: Path | None
    on_line: Callable[[str, float], None]
    on_open: Callable[[Channel], None] | None = None
    keeper_image: ImageFacts | None = None
    executable_tmp: bool = False
    examine: Examine | None = None


@dataclass(frozen=True, kw_only=True)
class AppliedLimits:
    """The limits in force, and which of them this executor could enforce.

    ``siblings`` has a text for each core that several of the CPUs share; None if unknown.
    """

    cpuset: str | None
    memory_bytes: int
    pids: int
    threads: int
    enforced: tuple[str, ...]
    siblings: tuple[str, ...] | None = None

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPU set as numbers; empty where there is none."""
        return tuple(map(int, self.cpuset.split(","))) if self.cpuset else ()

    @classmethod
    def of(cls, limits: Limits, *, cpus: CpuSet, enforced: tuple[str, ...]) -> "AppliedLimits":
        """The matrix's limits on these CPUs."""
        return cls(
            cpuset=str(cpus),
            memory_bytes=limits.memory_bytes,
            pids=limits.pids,
            threads=limits.threads,
            enforced=enforced,
            siblings=cpus.sibling_lists,
        )


@dataclass(frozen=True, kw_only=True)
class LaunchResult:
    """How a launch ended.

    Attributes:
        limits: what was in force.
        wall_seconds: from the start of the process to its end, as the runner saw it.
        exit_code: negative for a signal, None where nothing was started.
        out_of_memory: whether any process of the launch was killed at the memory limit; its exit code need not be
            this one.
        not_started: why nothing was started.
        stopped: why the executor ended the process before its own end.
        refused: why its output files are refused; the output directory is empty then.
        stderr: the end of it.
        caller_limits: what the runner's caller limited below what the matrix gives, in words: a failure may be due to it.
        examined: what trusted programs made of the outputs, in the order of the request.
    """

    limits: AppliedLimits
    wall_seconds: float = 0.0
    exit_code: int | None = None
    out_of_memory: bool = False
    not_started: str | None = None
    stopped: Failure | None = None
    refused: Failure | None = None
    stderr: str = ""
    caller_limits: tuple[str, ...] = ()
    examined: tuple[Examination, ...] = ()

    @property
    def failure(self) -> Failure | None:
        """Why the launch as a whole failed, or None; the most informative reason comes first.

        A full output directory comes before a deadline or an exit code, because it explains them.
        """
        if self.not_started is not None:
            return Failure(kind=FailureKind.NOT_STARTED, detail=self.not_started)
        if self.refused is not None or self.stopped is not None:
            return self.refused or self.stopped
        if self.exit_code == 0:
            return None
        ending = self._ending()
        # The flag alone may mean a child, and the exit code alone another cause, so both decide.
        if self.out_of_memory:
            return Failure(kind=FailureKind.OUT_OF_MEMORY, detail=f"{self._over_memory()}; {ending.detail}")
        return ending

    def explain(self, failure: Failure | None) -> Failure | None:
        """``failure`` of a cell of this launch, or out of memory where that explains the missing output."""
        if failure is None or not self.out_of_memory or failure.kind not in _NOT_DELIVERED:
            return failure
        return Failure(
            kind=FailureKind.OUT_OF_MEMORY, detail=f"{self._over_memory()}, a child of it; {failure.detail}"
        )

    def require_own(self, failure: Failure | None) -> None:
        """See that a failure is the implementation's own: under narrower limits than the matrix's it cannot be told.

        Raises:
            HostLimited: it may be due to a limit that the runner's caller set.
        """
        if failure is not None and self.caller_limits and failure.kind in _MAY_BE_THE_CALLERS:
            raise host_limited(
                f"a launch failed, and the caller's limits may be why: {failure.detail}",
                "; ".join(self.caller_limits),
            )

    def _over_memory(self) -> str:
        return f"killed at its {self.limits.memory_bytes / 2**20:.0f} MiB of memory"

    def _ending(self) -> Failure:
        last = _last_line(self.stderr)
        if self.exit_code is None or self.exit_code < 0:
            name = signal_name(-(self.exit_code or 0))
            return Failure(kind=FailureKind.SIGNAL, detail=f"ended by {name}; {last}")
        return Failure(kind=FailureKind.EXIT_CODE, detail=f"exit code {self.exit_code}; {last}")


class Executor(Protocol):
    """A place where launches run."""

    name: str

    def execution(self, platform: Platform) -> Execution:
        """How code of this platform is executed here."""

    def machine(self, platform: Platform) -> dict[str, Any]:
        """The description of the machine that launches of this platform run on: a record's ``machine``."""

    def state(self, platform: Platform) -> dict[str, Any]:
        """The state of that machine at this moment: a record's ``launch.state``."""

    def away(self, platform: Platform) -> str | None:
        """Why the machine of this platform cannot be reached now, or None."""

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Why this implementation cannot run on this platform here, or None."""

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """The CPUs that a launch under these limits gets; fewer than the limits ask for if there are fewer."""

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The execution hash of an image, without building it."""

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Whether preparing an image would build or pull it."""

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Build or find the image."""

    def sweep(self, say: Callable[[str], None]) -> None:
        """Remove the leftovers of dead runners here, and nothing of a runner that may be alive."""

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run one process to its end, its deadline, or the user's interruption."""


def _last_line(stderr: str) -> str:
    last = last_line(stderr)
    return f"stderr ends: {last[:300]}" if last else "stderr is empty"
