"""What disturbs a launch, from a kernel's own counters. An unknown fact is null, never a guess.

Counters only grow, so their difference before and after a launch is what happened while it ran.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from runner.system.kernel_files import CPU, ONLINE, STAT, Read, integer, online, processor_seconds
from runner.system.processor import governor, temperature, throttled, turbo

_VMSTAT = "/proc/vmstat"
# The time that a hypervisor took, among the words of the line of all processors.
_STEAL = (8,)
_PRESSURES = {resource: f"/proc/pressure/{resource}" for resource in ("cpu", "memory", "io")}
_GROUPS = PurePosixPath("/sys/fs/cgroup")


def _throttle_count_of(cpu: int) -> str:
    return f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count"


def disturbance_paths(cpus: Iterable[int]) -> tuple[str, ...]:
    """The files that tell the disturbances of another machine with these CPUs.

    The control group of a process that runs here is none of that machine's groups.
    """
    return (STAT, _VMSTAT, ONLINE, *_PRESSURES.values(), *map(_throttle_count_of, cpus))


def disturbances(read: Read) -> dict[str, Any]:
    """The facts, by their names in a record's ``launch.state``."""
    return {
        "governor": governor(read),
        "turbo": turbo(read),
        **{f"{resource}_pressure_avg10": _pressure(read(path)) for resource, path in _PRESSURES.items()},
        "throttle_count": _sum(integer(read(_throttle_count_of(cpu))) for cpu in online(read) or (0,)),
        "throttled": throttled(read),
        "celsius": temperature(read),
        "quota_throttle_count": _quota_throttles(read),
        "stolen_seconds": processor_seconds(read, _STEAL),
        "swapped_pages": _sum(_field(read(_VMSTAT), name) for name in ("pswpin", "pswpout")),
    }


def _pressure(text: str | None) -> float | None:
    """The share of the last ten seconds, in per cent, in which some process waited for a resource (PSI)."""
    first = (text or "").partition("\n")[0]
    words = dict(word.partition("=")[::2] for word in first.split())
    try:
        return float(words["avg10"])
    except (KeyError, ValueError):
        return None


def _quota_throttles(read: Read) -> int | None:
    """How often a quota of a control group stopped this process: the sum over its group and those above it.

    A container may have such a quota, and inside it only the own group can be seen.
    """
    group = _group(read("/proc/self/cgroup") or "")
    if group is None:
        return None
    mount, path = group
    return _sum(
        _field(read(str(_GROUPS / mount / each / "cpu.stat")), "nr_throttled")
        for each in (path, *path.parents)
    )


def _group(text: str) -> tuple[str, PurePosixPath] | None:
    """Where the group that holds the CPU quota is mounted, and its path there, for version 1 and version 2."""
    lines = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]  # noqa: PLR2004 (three fields)
    for _, controllers, path in lines:
        if "cpu" in controllers.split(","):
            return controllers, PurePosixPath(path.lstrip("/"))
    return next((("", PurePosixPath(path.lstrip("/"))) for number, _, path in lines if number == "0"), None)


def _field(text: str | None, name: str) -> int | None:
    """The number behind a word at the beginning of a line."""
    for line in (text or "").splitlines():
        word, _, value = line.partition(" ")
        if word == name and value.isdigit():
            return int(value)
    return None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None
