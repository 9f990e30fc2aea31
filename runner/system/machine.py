"""The machine's description and its state, read from psutil, /proc and /sys. An unknown fact is null, never a guess.

The runner reads this on the host and hands it to the record. Inside an emulated container /proc/cpuinfo shows the
host's processor, so the runner never reads it there.
"""

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

import psutil

from runner.system.busy import busy_processors
from runner.system.disturbance import disturbances
from runner.system.kernel_files import read_here
from runner.system.processor import processor

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_GIB = 2**30


def architecture() -> str:
    """This machine's architecture by Docker's name: amd64 or arm64."""
    return architecture_named(platform.machine())


def architecture_named(said: str) -> str:
    """Docker's name of the architecture that a kernel calls ``said``."""
    return _ARCHITECTURES.get(said, said)


@cache
def describe() -> dict[str, Any]:
    """The description of the machine. The keys are those of a record's ``machine``."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {
        **processor(read_here),
        "architecture": architecture(),
        "logical_cpus": psutil.cpu_count(logical=True),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_bytes": memory.total,
        "swap_bytes": swap.total,
        "os": _os_name(),
        "kernel": platform.release(),
    }


def fingerprint(described: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The facts that tell one machine from another: the part of its description that a content key depends on.

    Args:
        described: a machine as a record holds it; None for this one.

    A machine that the runner cannot inspect is identified by its daemon too. Other records lack the daemon. Memory
    counts in whole GiB, because a kernel keeps a few kB more or less for itself after each reboot.
    """
    whole = describe() if described is None else described
    found = {key: whole.get(key) for key in ("cpu_model", "architecture", "logical_cpus")}
    if whole.get("daemon") is not None:
        found["daemon"] = whole["daemon"]
    memory = whole.get("memory_bytes")
    return {**found, "memory_bytes": None if memory is None else round(memory / _GIB) * _GIB}


def state() -> dict[str, Any]:
    """The machine's state at this moment. The keys are those of a record's ``launch.state``."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    frequency = psutil.cpu_freq()
    return {
        "load_1m": round(psutil.getloadavg()[0], 2),
        "busy_processors": busy_processors(read_here),
        "memory_available_bytes": memory.available,
        "swap_used_bytes": swap.used,
        "cpu_mhz": round(frequency.current) if frequency and frequency.current else None,
        **disturbances(read_here),
    }


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
