"""The machine on which a daemon's containers run, as the daemon describes itself."""

import os
import platform
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from typing import Any

import psutil

from runner.daemon.endpoint import Endpoint
from runner.system import machine

_DESKTOP = "Docker Desktop"
# Where the sockets of programs lie that run a daemon in a virtual machine on this machine.
_VIRTUAL_MACHINES = ("/.docker/desktop/", "/.colima/", "/.lima/", "/.orbstack/", "/.rd/")


class Whereabouts(Enum):
    """Where containers run, as seen from the runner."""

    # On this kernel.
    HERE = "here"
    # In the virtual machine of Docker Desktop, Colima or Lima on this machine: natively, on a part of it.
    DESKTOP = "desktop"
    # On a machine that the runner cannot inspect.
    ELSEWHERE = "elsewhere"


def architecture_of(information: Mapping[str, Any]) -> str:
    """The architecture of the daemon's machine by Docker's name of images: amd64 or arm64."""
    return machine.architecture_named(str(information.get("Architecture")))


def whereabouts(information: Mapping[str, Any], endpoint: Endpoint) -> Whereabouts:
    """Where the containers run of a daemon that describes itself so.

    The address alone does not tell. A Unix socket may be forwarded over SSH, and a daemon on this machine (in CI) may
    be reached over TCP. A machine with this machine's kernel, exact memory and no more CPUs counts as this machine. A
    content key could not tell two such machines apart either.
    """
    cpus, memory = information.get("NCPU") or 0, information.get("MemTotal") or 0
    own_memory = psutil.virtual_memory().total
    # A daemon that is pinned to some CPUs counts only these.
    if not (0 < cpus <= (os.cpu_count() or 1) and 0 < memory <= own_memory):
        return Whereabouts.ELSEWHERE
    if memory == own_memory and information.get("KernelVersion") == platform.release():
        return Whereabouts.HERE
    own = architecture_of(information) == machine.architecture()
    return (
        Whereabouts.DESKTOP if _is_of_an_application(information, endpoint) and own else Whereabouts.ELSEWHERE
    )


def _is_of_an_application(information: Mapping[str, Any], endpoint: Endpoint) -> bool:
    """Whether a program of this machine keeps the daemon in a virtual machine: by its name, or its socket's place."""
    if endpoint.socket is None:
        return False
    by_name = _DESKTOP in str(information.get("OperatingSystem"))
    return by_name or any(place in str(endpoint.socket) for place in _VIRTUAL_MACHINES)


def machine_of_daemon(information: Mapping[str, Any], place: Whereabouts) -> dict[str, Any]:
    """The description of the machine that containers run on, as a record's ``machine``; null where unknown.

    A remote machine is identified by a hash of its daemon's identifier, so that a record holds no name of it.
    """
    here = machine.describe()
    if place is Whereabouts.HERE:
        return here
    said: dict[str, Any] = {
        "architecture": architecture_of(information),
        "logical_cpus": information.get("NCPU"),
        "memory_bytes": information.get("MemTotal"),
        "os": information.get("OperatingSystem"),
        "kernel": information.get("KernelVersion"),
    }
    if place is Whereabouts.DESKTOP:
        # The processor is this machine's; the other facts are the virtual machine's.
        return {**here, **said, "physical_cores": None, "swap_bytes": None, "hypervisor": True}
    identifier = information.get("ID")
    daemon = sha256(str(identifier).encode()).hexdigest()[:16] if identifier else None
    return {**dict.fromkeys(here), **said, "daemon": daemon}
