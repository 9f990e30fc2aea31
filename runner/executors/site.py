"""Where a docker executor's containers run: a daemon, what is known of its machine, and how images get there."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from docker.models.containers import Container

import docker
from runner.executors.container_seen import Outside
from runner.images.spec import Image, ImageSpec
from runner.records.execution import Execution
from runner.system.topology import Topology


class Site(Protocol):
    """A daemon and the machine that its containers run on.

    Attributes:
        client: the connection to the daemon.
        enforced: the limits that the daemon enforces, by their names in a record.
        unlimited: why it can enforce none; None where it can.
        cpus: the CPUs that launches may use.
        topology: where each CPU stands; None if unknown.
    """

    client: docker.DockerClient
    enforced: tuple[str, ...]
    unlimited: str | None
    cpus: tuple[int, ...]
    topology: Topology | None

    def execution(self, architecture: str) -> Execution:
        """How code of this architecture is executed there."""

    def machine(self) -> dict[str, Any]:
        """The description of the machine: a record's ``machine``."""

    def state(self) -> dict[str, Any]:
        """The state of the machine at this moment: a record's ``launch.state``."""

    def outside(self, container: Container, cpus: Iterable[int]) -> Outside:
        """The way to look at a container there, which may use these CPUs."""

    def must_build(self, spec: ImageSpec) -> bool:
        """Whether this machine has yet to build or pull the image."""

    def ensure(self, spec: ImageSpec, say: Callable[[str], None]) -> Image:
        """The image, there; it is made or transferred first where it is missing."""
