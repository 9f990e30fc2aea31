"""The docker executor on another machine. A broken connection is made again, and what it left there is removed."""

import atexit
import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.base import LaunchRequest, LaunchResult
from runner.executors.docker import DockerExecutor
from runner.executors.ssh_site import OwnImage, SshSite
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.image import ImageFacts
from runner.system import machine
from runner.system.cpus import CpuSet
from runner.system.errors import DockerUnavailable, HostAway
from runner.system.other_machine import unknown_state

# A machine that restarts, or a network that was away, gets so long to come back.
_RETURN_SECONDS = 60.0
_PAUSE_SECONDS = 2.0


class HostExecutor:
    """Runs launches on the machine of one platform."""

    name = "docker"

    def __init__(self, platform: str, address: str, root: Path, *, own_image: OwnImage) -> None:
        """Connect to the machine, and look at it.

        Args:
            platform: the platform's name.
            address: of its machine.
            root: the checkout.
            own_image: makes or finds an image on this machine's daemon.

        Raises:
            HostAway: it cannot be reached.
        """
        self._platform = platform
        self._open = partial(SshSite, platform, address, root, own_image=own_image)
        self._root = root
        # None while the connection is broken. What was seen of the machine stays known.
        self._site: SshSite | None = self._open()
        self._seen = self._site.machine()
        self._docker = DockerExecutor(self._site, root)
        atexit.register(self.close)

    def execution(self, platform: Platform) -> Execution:
        """As the probe found it."""
        return self._docker.execution(platform)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """That machine."""
        del platform
        return self._seen

    def state(self, platform: Platform) -> dict[str, Any]:
        """The state of that machine; unknown where the connection breaks. A launch that has ended is not lost by that.

        Raises:
            HostAway: the connection was broken before, and cannot be made again.
        """
        there = self._there()
        try:
            return there.state(platform)
        except BROKEN_CONNECTION:
            self._break()
            return unknown_state()

    def away(self, platform: Platform) -> str | None:
        """A machine that answered once is there."""
        del platform
        return None

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """A processor without fused multiply-add computes other bytes than are promised."""
        simd = self.machine(platform)["simd"]
        if platform.architecture == "amd64" and simd and "fma" not in simd:
            return f"the processor of {platform.name} has no fused multiply-add (FMA)"
        return self._docker.left_out(implementation, platform)

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """CPUs of that machine."""
        return self._docker.cpus(limits, platform)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The hash of the image's inputs, which are here."""
        return self._docker.identify(target, toolchain, platform)

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Images are sent there, and never built there."""
        del target, toolchain, platform
        return False

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """The image, sent there unless it is there.

        Raises:
            HostAway: the connection broke.
        """
        there = self._there()
        with self._noticing():
            return there.prepare(target, toolchain, platform, say)

    def sweep(self, say: Callable[[str], None]) -> None:
        """Remove the leftovers of dead runners there."""
        if self._site is not None:
            self._docker.sweep(lambda text: say(f"{self._platform}: {text}"))

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run there.

        Raises:
            HostAway: the connection broke. Nothing is known of the launch, and what it left there is removed when the
                connection is made again.
        """
        there = self._there()
        with self._noticing():
            return there.launch(request)

    def _there(self) -> DockerExecutor:
        """The executor on a connection, made again where it was found broken.

        Raises:
            HostAway: it cannot be made.
        """
        if self._site is None:
            self._site = self._again()
            self._docker = DockerExecutor(self._site, self._root)
        return self._docker

    def _again(self) -> SshSite:
        until = time.monotonic() + _RETURN_SECONDS
        while True:
            try:
                site = self._open()
                break
            except HostAway:
                if time.monotonic() > until:
                    raise
            time.sleep(_PAUSE_SECONDS)
        now, before = machine.fingerprint(site.machine()), machine.fingerprint(self._seen)
        if now != before:
            site.close()
            raise HostAway(
                what=f"the machine of {self._platform} is another one than before",
                why=f"the plan was made for {before}, and {now} answers",
                fix="run again: the plan is then made for that machine",
            )
        return site

    @contextlib.contextmanager
    def _noticing(self) -> Iterator[None]:
        """Tell a broken connection from another fault of the daemon."""
        try:
            yield
        except DockerUnavailable as error:
            site = self._site
            if site is None or site.answers():
                raise
            away = site.away(error)
            self._break()
            raise away from error

    def _break(self) -> None:
        if self._site is not None:
            self._site.close(broken=True)
            self._site = None

    def close(self) -> None:
        """Leave the machine. The end of the process does so too."""
        if self._site is not None:
            self._site.close()
            self._site = None
