"""The daemon of another machine, reached over SSH: described by a probe there, and given images from here."""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from docker.errors import APIError
from docker.models.containers import Container

from runner.daemon.connection import BROKEN_CONNECTION, connect
from runner.daemon.enforced_limits import enforced_by, unlimited
from runner.daemon.tunnel import Tunnel
from runner.daemon.whereabouts import architecture_of
from runner.executors.attached import in_one_line
from runner.executors.container_seen import Far, Outside
from runner.executors.probe import Probe
from runner.executors.sweep import remove_own
from runner.images.spec import Image, ImageSpec
from runner.images.transfer import ensure_there
from runner.records.execution import Execution, ExecutionKind
from runner.system import other_machine
from runner.system.errors import DockerUnavailable, HostAway
from runner.system.kernel_files import online
from runner.system.processor import cache_paths
from runner.system.topology import topology_of, topology_paths

_FAILED: tuple[type[Exception], ...] = (*BROKEN_CONNECTION, DockerUnavailable)

OwnImage = Callable[[ImageSpec, Callable[[str], None]], Image]


class SshSite:
    """A connection, a probe, and what the probe read."""

    def __init__(self, platform: str, address: str, root: Path, *, own_image: OwnImage) -> None:
        """Connect and look.

        Args:
            platform: the platform's name.
            address: of its machine.
            root: the checkout.
            own_image: makes or finds an image on this machine's daemon.

        Raises:
            HostAway: the machine cannot be reached, or runs no container.
        """
        self._root = root
        self._own_image = own_image
        self._tunnel = Tunnel(platform, address)
        try:
            self.client, information = connect(timeout=60, at=self._tunnel.endpoint)
            # A connection that broke left containers of this very runner there.
            remove_own(self.client)
            self._architecture = architecture_of(information)
            self._probe = _probe(self.client, self._architecture)
            self._look(information)
        except _FAILED as error:
            away = self._tunnel.away(getattr(error, "why", None) or in_one_line(error))
            self._tunnel.close()
            raise away from error
        except BaseException:
            self._tunnel.close()
            raise
        self.enforced = enforced_by(information)
        self.unlimited = unlimited(information)

    def _look(self, information: Mapping[str, Any]) -> None:
        read = self._probe.read(other_machine.DESCRIPTION_FILES)
        count = int(information["NCPU"])
        listed = online(read)
        # A daemon that is pinned to some CPUs counts only these, and does not say which.
        self.cpus = listed if len(listed) == count else tuple(range(count))
        everywhere = listed or self.cpus
        more = self._probe.read((*topology_paths(everywhere), *cache_paths(everywhere)))
        whole = topology_of(more, everywhere)
        self.topology = whole and {cpu: whole[cpu] for cpu in self.cpus if cpu in whole}
        self._state_files = self._probe.again(other_machine.state_files(everywhere))
        self._emulator = other_machine.emulator(read)
        self._doubtful = other_machine.may_be_emulated(read)
        identifier = information.get("ID")
        self._machine = {
            **other_machine.describe(lambda path: read(path) or more(path), whole),
            "architecture": self._architecture,
            "os": information.get("OperatingSystem"),
            "kernel": information.get("KernelVersion"),
            # No name of the machine is in a record.
            "daemon": sha256(str(identifier).encode()).hexdigest()[:16] if identifier else None,
        }

    def execution(self, architecture: str) -> Execution:
        """As the probe found it: a machine that is itself emulated runs nothing natively."""
        if self._emulator is not None or architecture != self._architecture:
            return Execution(kind=ExecutionKind.EMULATED, emulator=self._emulator)
        kind = ExecutionKind.UNKNOWN if self._doubtful else ExecutionKind.NATIVE
        return Execution(kind=kind, emulator=None)

    def machine(self) -> dict[str, Any]:
        """That machine, as the probe read it."""
        return self._machine

    def state(self) -> dict[str, Any]:
        """The state of that machine, read now."""
        return other_machine.state(self._state_files.read())

    def outside(self, container: Container, cpus: Iterable[int]) -> Outside:
        """Through the daemon and the probe."""
        del cpus
        return Far(container, self._probe)

    def must_build(self, spec: ImageSpec) -> bool:
        """The machine of the daemon builds nothing."""
        del spec
        return False

    def ensure(self, spec: ImageSpec, say: Callable[[str], None]) -> Image:
        """The image there, sent from here if it is missing."""
        return ensure_there(spec, self._tunnel.endpoint, root=self._root, own_image=self._own_image, say=say)

    def answers(self) -> bool:
        """Whether the connection carries."""
        try:
            return bool(self.client.ping())
        except BROKEN_CONNECTION:
            return False

    def away(self, error: DockerUnavailable) -> HostAway:
        """The error for a connection that broke."""
        return self._tunnel.away(error.why)

    def close(self, *, broken: bool = False) -> None:
        """Leave the machine. A broken connection removes nothing."""
        if not broken:
            self._probe.close()
        self._tunnel.close()


def _probe(client: Any, architecture: str) -> Probe:
    """The probe.

    Raises:
        DockerUnavailable: that machine cannot run a program of amd64 or arm64: an older board, or a system of 32 bits.
    """
    try:
        return Probe(client, architecture)
    except KeyError:
        why = f"its Docker is for {architecture}, and forge-bench has images for amd64 and arm64"
    except APIError as error:
        why = f"its Docker did not run a small {architecture} program: {in_one_line(error)}"
    raise DockerUnavailable(what="", why=why, fix="")
