"""The one place where a platform becomes an executor: each question goes to the executor at the platform's place."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.executors.absent import Absent
from runner.executors.base import Executor, LaunchRequest, LaunchResult
from runner.executors.docker import DockerExecutor
from runner.executors.own_site import OwnSite
from runner.images.spec import Image, ImageSpec
from runner.matrix import Implementation, Limits, Platform, Slurm
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.image import ImageFacts
from runner.system.cpus import CpuSet
from runner.system.errors import HostAway

if TYPE_CHECKING:
    from runner.executors.host import HostExecutor


class Places:
    """The docker executor on this machine and on others. A connection is made with the first question about a machine."""

    def __init__(
        self,
        root: Path,
        log_directory: Path,
        *,
        fleet: Callable[[Platform, Slurm], Executor],
        registry: str | None = None,
        short_names_of: str | None = None,
        local: Executor | None = None,
    ) -> None:
        """Images are made here, from the checkout at ``root``, also for other machines.

        ``fleet`` gives the executor of a Slurm platform. Images of the toolchain ``short_names_of`` get short names too
        (None: of any). With a ``local`` executor nothing else runs in containers.
        """
        self.name = "docker" if local is None else local.name
        self._fleet = fleet
        self._local = local
        self._root = root
        self._log_directory = log_directory
        self._registry = registry
        self._short_names_of = short_names_of
        self._own_site: OwnSite | None = None
        self._executors: dict[str, Executor] = {}
        self._connections: list[HostExecutor] = []

    def execution(self, platform: Platform) -> Execution:
        """As the machine of the platform executes it."""
        return self._at(platform).execution(platform)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """The machine of the platform."""
        return self._at(platform).machine(platform)

    def state(self, platform: Platform) -> dict[str, Any]:
        """Of the machine of the platform."""
        return self._at(platform).state(platform)

    def away(self, platform: Platform) -> str | None:
        """Why the machine of the platform cannot be reached."""
        return self._at(platform).away(platform)

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """As the platform's executor says."""
        return self._at(platform).left_out(implementation, platform)

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """The CPUs of the platform's machine."""
        return self._at(platform).cpus(limits, platform)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """As the platform's executor says."""
        return self._at(platform).identify(target, toolchain, platform)

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """As the platform's executor says."""
        return self._at(platform).must_build(target, toolchain, platform)

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """The image, on the platform's machine."""
        return self._at(platform).prepare(target, toolchain, platform, say)

    def sweep(self, say: Callable[[str], None]) -> None:
        """Sweep every machine that was asked for something."""
        for each in self._executors.values():
            each.sweep(say)

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Run on the platform's machine."""
        return self._at(request.platform).launch(request)

    def apart(self) -> Callable[[], "Places"]:
        """Leave the other machines, and give what makes such an executor in another process.

        A connection belongs to one process. This executor makes its own again where it is asked once more.
        """
        for each in self._connections:
            each.close()
        return partial(
            Places,
            self._root,
            self._log_directory,
            fleet=_no_fleet,
            registry=self._registry,
            short_names_of=self._short_names_of,
            local=self._local,
        )

    def _at(self, platform: Platform) -> Executor:
        place = "" if platform.is_here else platform.name
        if place not in self._executors:
            self._executors[place] = self._made(platform)
        return self._executors[place]

    def _made(self, platform: Platform) -> Executor:
        if self._local is not None and platform.slurm is None:
            return self._local
        try:
            if platform.slurm is not None:
                return self._fleet(platform, platform.slurm)
            if platform.host is None:
                return DockerExecutor(self._own(), self._root)
            # Imported here: most calls ask no other machine.
            from runner.executors.host import HostExecutor  # noqa: PLC0415

            host = HostExecutor(platform.name, platform.host, self._root, own_image=self._own_image)
        except HostAway as error:
            return Absent(error, self._root)
        self._connections.append(host)
        return host

    def _own_image(self, spec: ImageSpec, say: Callable[[str], None]) -> Image:
        """The image on this machine's daemon, from which other machines get it."""
        return self._own().ensure(spec, say)

    def _own(self) -> OwnSite:
        if self._own_site is None:
            self._own_site = OwnSite(
                self._root,
                self._log_directory,
                registry=self._registry,
                short_names_of=self._short_names_of,
            )
        return self._own_site


def _no_fleet(platform: Platform, where: Slurm) -> Executor:
    del where
    raise ValueError(f"launches of {platform.name} are jobs of a fleet, which another process starts")
