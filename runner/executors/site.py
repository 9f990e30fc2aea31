"""Where a docker executor's containers run: a daemon, what is known of its machine, and how images get there."""

from collections.abc import Callable
from typing import Any, Protocol

import docker
from runner.images.spec import Image, ImageSpec
from runner.records.execution import Execution
from runner.system.topology import Topology


class Site(Protocol):
    """A daemon and the machine that its containers run on.

    Attributes:
        client: the connection to the daemon.
        is_here: whether containers run on this kernel, so that their processes can be looked at from here.
        enforced: the limits that the daemon enforces, by their names in a record.
        unlimited: why it can enforce none; None where it can.
        cpus: the CPUs that launches may use.
        topology: where each CPU stands; None if unknown.
    """

    client: docker.DockerClient
    is_here: bool
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

    def ensure(self, spec: ImageSpec, say: Callable[[str], None]) -> Image:
        """The image, there; it is made or transferred first where it is missing."""
