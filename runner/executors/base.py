"""What every executor offers, and what goes in and out of one launch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.execution import Execution
from runner.images.spec import Toolchain
from runner.matrix import Implementation, Limits, Platform

# More than this on stdout is not a measurement any more.
MOST_STDOUT_BYTES = 64 * 2**20
KEPT_STDERR_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """The image that a launch runs in, as a record names it. Fields are null where there is no image."""

    target: str
    architecture: str
    identity: str | None
    execution_hash: str
    config_digest: str | None
    manifest_digest: str | None


@dataclass(frozen=True, kw_only=True)
class LaunchRequest:
    """One process to start.

    ``command`` is complete but for ``--input`` and ``--output``, which the executor adds with paths of its own where
    the runner gives directories: one to read, and one, empty, that is to hold what the launch wrote.
    """

    name: str
    image: ImageFacts
    platform: Platform
    command: tuple[str, ...]
    limits: Limits
    deadline_seconds: float
    input_directory: Path | None
    output_directory: Path | None
    on_line: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class AppliedLimits:
    """The limits in force, and which of them this executor could enforce."""

    cpuset: str | None
    memory_bytes: int
    pids: int
    threads: int
    enforced: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LaunchResult:
    """How a launch ended. ``exit_code`` is negative for a signal, None where nothing was started."""

    exit_code: int | None
    out_of_memory: bool
    deadline_passed: bool
    too_much_output: bool
    not_started: str | None
    wall_seconds: float
    stderr: str
    limits: AppliedLimits


class Executor(Protocol):
    """A place where launches run."""

    name: str

    def execution(self, platform: Platform) -> Execution:
        """How code of this platform is executed here."""

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Why this implementation cannot run on this platform here, or None."""

    def identify(self, target: str, toolchain: Toolchain, platform: Platform) -> str:
        """The execution hash of an image, without building it."""

    def prepare(
        self, target: str, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Build or find the image."""

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run one process to its end, its deadline, or the user's interruption."""
