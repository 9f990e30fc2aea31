"""Another machine, described by the files of its kernel alone. The keys are those of `runner.system.machine`."""

import statistics
from collections.abc import Iterable
from typing import Any

from runner.system.disturbance import disturbance_paths, disturbances
from runner.system.kernel_files import ONLINE, Read, integer, online
from runner.system.processor import CPUINFO, DESCRIPTION_PATHS, STATE_PATHS, cpuinfo, processor
from runner.system.topology import Topology

_MEMORY, _LOAD = "/proc/meminfo", "/proc/loadavg"
_VENDOR, _DEVICES = "/sys/class/dmi/id/sys_vendor", "/proc/device-tree/compatible"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
# The number that ARM gave to nobody: QEMU's own processor has it.
_NOBODY = "0x00"

# `describe` reads those of `runner.system.processor.cache_paths` too, which depend on the CPUs.
DESCRIPTION_FILES = (_MEMORY, ONLINE, _VENDOR, _DEVICES, _CLOCKS, *DESCRIPTION_PATHS)


def state_files(cpus: Iterable[int]) -> tuple[str, ...]:
    """The files that `state` reads of a machine with these CPUs."""
    return (_MEMORY, _LOAD, CPUINFO, *STATE_PATHS, *disturbance_paths(cpus))


def describe(read: Read, topology: Topology | None) -> dict[str, Any]:
    """What its files tell of the machine. Its daemon knows the rest."""
    return {
        **processor(read),
        "logical_cpus": len(online(read)) or None,
        "physical_cores": None if topology is None else len({each.core for each in topology.values()}),
        "memory_bytes": _kilobytes(read, "MemTotal"),
        "swap_bytes": _kilobytes(read, "SwapTotal"),
    }


def state(read: Read) -> dict[str, Any]:
    """The machine's state when its files were read."""
    total, free = _kilobytes(read, "SwapTotal"), _kilobytes(read, "SwapFree")
    load = (read(_LOAD) or "").split()
    speeds = [float(each["cpu MHz"]) for each in cpuinfo(read) if "cpu MHz" in each]
    return {
        "load_1m": float(load[0]) if load else None,
        # It takes two readings some time apart, and the files are read once.
        "busy_processors": None,
        "memory_available_bytes": _kilobytes(read, "MemAvailable"),
        "swap_used_bytes": None if total is None or free is None else total - free,
        "cpu_mhz": round(statistics.mean(speeds)) if speeds else None,
        **disturbances(read),
    }


def unknown_state() -> dict[str, Any]:
    """The state of a machine that nobody can look into: each fact is null."""
    return dict.fromkeys(state(lambda _: None))


def emulator(read: Read) -> str | None:
    """The emulator that the whole machine is, by its processor; None where the processor is real or not QEMU's."""
    first: Iterable[str] = ()
    for each in cpuinfo(read)[:1]:
        first = (each.get("model name", ""), each.get("CPU implementer", ""))
    return "QEMU TCG" if any("QEMU TCG" in text or text == _NOBODY for text in first) else None


def may_be_emulated(read: Read) -> bool:
    """Whether it is a virtual machine of QEMU that does not show whether a processor or a program runs it.

    KVM shows its clock on amd64. On ARM an emulated machine may bear the name of a real processor.
    """
    qemu = (read(_VENDOR) or "") == "QEMU" or "linux,dummy-virt" in (read(_DEVICES) or "")
    return qemu and "kvm-clock" not in (read(_CLOCKS) or "")


def _kilobytes(read: Read, name: str) -> int | None:
    """A line of /proc/meminfo, in bytes."""
    for line in (read(_MEMORY) or "").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            found = integer(value.split()[0]) if value.split() else None
            return None if found is None else found * 1024
    return None
