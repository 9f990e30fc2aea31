"""The executor of a platform whose machine is not to be had now. Its cells are not run, and their reason is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.executors.base import LaunchRequest, LaunchResult
from runner.images.identity import execution_hash_of
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution, ExecutionKind
from runner.records.image import ImageFacts
from runner.system import machine
from runner.system.cpus import CpuSet
from runner.system.errors import HostAway
from runner.system.other_machine import unknown_state


class Absent:
    """Answers what a plan asks of every platform, and starts nothing."""

    name = "docker"

    def __init__(self, why: HostAway, root: Path) -> None:
        self._why = why
        self._root = root

    def execution(self, platform: Platform) -> Execution:
        """Unknown."""
        del platform
        return Execution(kind=ExecutionKind.UNKNOWN, emulator=None)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """Nothing but what the matrix says of it."""
        return {**dict.fromkeys(machine.describe()), "architecture": platform.architecture}

    def state(self, platform: Platform) -> dict[str, Any]:
        """Nothing is known."""
        del platform
        return unknown_state()

    def away(self, platform: Platform) -> str | None:
        """Why it cannot be reached."""
        del platform
        return self._why.why

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """Nothing is left out for another reason."""
        del implementation, platform
        return None

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """As many as the limits ask for."""
        del platform
        return CpuSet(cpus=tuple(range(limits.cpus)), siblings=None)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The hash of the image's inputs, which are here."""
        return execution_hash_of(target, toolchain, platform.architecture, self._root)

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """There is nowhere to put an image."""
        del target, toolchain, platform
        return False

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """There is nowhere to put an image.

        Raises:
            HostAway: always.
        """
        del target, toolchain, platform, say
        raise self._why

    def sweep(self, say: Callable[[str], None]) -> None:
        """Nothing can be removed there now."""
        del say

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Nothing can be started there.

        Raises:
            HostAway: always.
        """
        del request
        raise self._why
