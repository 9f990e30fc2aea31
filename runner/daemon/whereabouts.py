"""On which machine a daemon's containers run, and what is known of it: told by what the daemon says of itself."""

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


class Whereabouts(Enum):
    """Where containers run, as seen from the runner."""

    # On this kernel.
    HERE = "here"
    # In the virtual machine that Docker Desktop has on this machine: natively, on a part of it.
    DESKTOP = "desktop"
    # On a machine that cannot be looked at from here.
    ELSEWHERE = "elsewhere"


def architecture_of(information: Mapping[str, Any]) -> str:
    """The architecture of the daemon's machine by Docker's name of images: amd64 or arm64."""
    return machine.architecture_named(str(information.get("Architecture")))


def whereabouts(information: Mapping[str, Any], endpoint: Endpoint) -> Whereabouts:
    """Where the containers of a daemon run that says this of itself.

    The address alone does not tell: a Unix socket may be forwarded over SSH, and a daemon in a container beside this
    one (CI) be reached over TCP. Two machines of one kernel, one memory to the byte and no more CPUs are as alike as
    two that a content key holds for one.
    """
    cpus, memory = information.get("NCPU") or 0, information.get("MemTotal") or 0
    own_memory = psutil.virtual_memory().total
    # A daemon that is pinned to some of the CPUs counts those.
    if not (0 < cpus <= (os.cpu_count() or 1) and 0 < memory <= own_memory):
        return Whereabouts.ELSEWHERE
    if memory == own_memory and information.get("KernelVersion") == platform.release():
        return Whereabouts.HERE
    desktop = _DESKTOP in str(information.get("OperatingSystem")) and endpoint.socket is not None
    own = architecture_of(information) == machine.architecture()
    return Whereabouts.DESKTOP if desktop and own else Whereabouts.ELSEWHERE


def machine_of_daemon(information: Mapping[str, Any], place: Whereabouts) -> dict[str, Any]:
    """What the machine is that containers run on, as a record's ``machine``; null where unknown.

    A machine elsewhere is told from others by a hash of its daemon's identifier: no name of it gets into a record.
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
        # Its processor is this machine's; the rest is what the virtual machine has.
        return {**here, **said, "physical_cores": None, "swap_bytes": None, "hypervisor": True}
    identifier = information.get("ID")
    daemon = sha256(str(identifier).encode()).hexdigest()[:16] if identifier else None
    return {**dict.fromkeys(here), **said, "daemon": daemon}
