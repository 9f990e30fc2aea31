"""The daemon that the docker command line speaks to: usually on this machine."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docker.models.containers import Container

from runner.daemon.connection import connect
from runner.daemon.endpoint import current_endpoint
from runner.daemon.enforced_limits import enforced_by, unlimited
from runner.daemon.whereabouts import Whereabouts, architecture_of, machine_of_daemon, whereabouts
from runner.executors.container_seen import Far, Near, Outside
from runner.images.build import ensure_image, is_there
from runner.images.spec import Image, ImageSpec
from runner.records.execution import Execution, ExecutionKind
from runner.system import machine
from runner.system.cpus import usable_cpus
from runner.system.emulation import emulator_of
from runner.system.other_machine import unknown_state
from runner.system.topology import topology_here


class OwnSite:
    """The daemon of this machine, or of the one that a context or ``DOCKER_HOST`` names."""

    def __init__(
        self,
        root: Path,
        log_directory: Path,
        *,
        registry: str | None = None,
        short_names_of: str | None = None,
    ) -> None:
        self._root = root
        self._log_directory = log_directory
        self._registry = registry
        self._short_names_of = short_names_of
        # The daemon that the command line builds on, which a context may choose.
        self.client, information = connect(timeout=60)
        self._architecture = architecture_of(information)
        self._place = whereabouts(information, current_endpoint())
        self._machine = machine_of_daemon(information, self._place)
        self._is_here = self._place is Whereabouts.HERE
        cpus = int(information["NCPU"])
        # The affinity of this process says nothing about another machine's CPUs.
        self.cpus = usable_cpus(cpus) if self._is_here else tuple(range(cpus))
        self.topology = topology_here() if self._is_here else None
        self.enforced = enforced_by(information)
        self.unlimited = unlimited(information)

    def execution(self, architecture: str) -> Execution:
        """Native where the daemon's machine is this machine and has that architecture; unknown on another machine."""
        if architecture != self._architecture:
            emulator = emulator_of(architecture) if self._is_here else None
            return Execution(kind=ExecutionKind.EMULATED, emulator=emulator)
        elsewhere = self._place is Whereabouts.ELSEWHERE
        return Execution(kind=ExecutionKind.UNKNOWN if elsewhere else ExecutionKind.NATIVE, emulator=None)

    def machine(self) -> dict[str, Any]:
        """The daemon's."""
        return self._machine

    def state(self) -> dict[str, Any]:
        """This machine's state where containers run on it; nulls for another machine."""
        return unknown_state() if self._place is Whereabouts.ELSEWHERE else machine.state()

    def outside(self, container: Container, cpus: Iterable[int]) -> Outside:
        """Through this kernel where containers run on it, else through the daemon."""
        return Near(container, cpus) if self._is_here else Far(container, None)

    def must_build(self, spec: ImageSpec) -> bool:
        """Whether the daemon lacks the image."""
        return not is_there(spec, root=self._root)

    def ensure(self, spec: ImageSpec, say: Callable[[str], None]) -> Image:
        """Pull or build the image unless it is there."""
        return ensure_image(
            spec,
            root=self._root,
            log_directory=self._log_directory,
            say=say,
            registry=self._registry,
            short_names_of=self._short_names_of,
        )
