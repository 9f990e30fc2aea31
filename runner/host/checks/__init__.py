"""The checks of a host, as a list. Each is a small function from the host's state to a finding."""

from collections.abc import Callable, Iterator

from runner.host.checks import building, daemon, machine, storage
from runner.host.finding import Finding
from runner.host.state import HostState

CHECKS: tuple[Callable[[HostState], Iterator[Finding]], ...] = (
    daemon.docker_command,
    daemon.docker_daemon,
    daemon.docker_library,
    daemon.containers_machine,
    building.buildx,
    building.emulation,
    building.base_image,
    building.package_mirror,
    building.pins,
    storage.disk_space,
    storage.results_directory,
    storage.records,
    machine.memory,
    machine.processors,
    daemon.container_limits,
    machine.load,
    machine.governor,
    machine.implementations,
)


def examine(host_state: HostState) -> list[Finding]:
    """The findings of all checks, in their order."""
    return [finding for check in CHECKS for finding in check(host_state)]
