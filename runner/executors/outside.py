"""What a launch has used so far, read from outside while it waits: files of the kernel that it cannot write."""

import os
from collections.abc import Iterable
from pathlib import Path

from runner.executors.channel import UNSEEN, Seen
from runner.executors.usage import members

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def seen_of_session(leader: int, cpus: Iterable[int]) -> Seen:
    """What the processes of a session have used; its processor time to a tick of the kernel's clock (10 ms).

    Args:
        leader: the process that leads the session.
        cpus: those that it may use.
    """
    found = tuple(members(leader))
    if not found:
        return UNSEEN
    pids = [each.pid for each in found]
    return Seen(
        cpu_seconds=sum(each.ticks for each in found) / _ticks_a_second(),
        preemptions=_preemptions(pids),
        stolen_seconds=_stolen_seconds(cpus),
    )


def peak_of_session(leader: int) -> int | None:
    """The sum of the peak resident sets of a session's processes; None where there are none to be seen."""
    return _peaks(each.pid for each in members(leader))


def seen_of_container(init: int, identifier: str, cpus: Iterable[int]) -> Seen:
    """What a container on this kernel has used; nothing is known where it is on another, or hidden from us.

    Args:
        init: the process number of its first process, which only waits for the others.
        identifier: the container's, which its control group is named after.
        cpus: those that it may use.
    """
    directory = _control_group(init, identifier)
    if directory is None:
        return UNSEEN
    cpu_seconds = _cpu_seconds(directory)
    return Seen(
        cpu_seconds=cpu_seconds,
        preemptions=_preemptions(_processes(directory, init)),
        stolen_seconds=_stolen_seconds(cpus),
        is_all=cpu_seconds is not None,
    )


def peak_of_container(init: int, identifier: str) -> int | None:
    """The sum of the peak resident sets of its processes, but for the first; None as above."""
    directory = _control_group(init, identifier)
    return None if directory is None else _peaks(_processes(directory, init))


def _control_group(init: int, identifier: str) -> Path | None:
    groups = dict(_groups(init))
    if not any(identifier in path for path in groups.values()):
        return None
    directory = _CGROUPS / "cpuacct" if "cpuacct" in groups else _CGROUPS
    return directory / groups.get("cpuacct", groups.get("", "")).lstrip("/")


def _processes(directory: Path, init: int) -> list[int]:
    return [int(pid) for pid in _read(directory / "cgroup.procs").split() if int(pid) != init]


def _groups(pid: int) -> Iterable[tuple[str, str]]:
    """The path of each controller's group; "" names the one of version 2."""
    for line in _read(_PROC / str(pid) / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _cpu_seconds(directory: Path) -> float | None:
    nanoseconds = _read(directory / "cpuacct.usage").strip()
    if nanoseconds.isdigit():
        return int(nanoseconds) / 1e9
    for line in _read(directory / "cpu.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec":
            return int(value) / 1e6
    return None


def _peaks(pids: Iterable[int]) -> int | None:
    return sum(peak_in(_read(_PROC / str(pid) / "status")) for pid in pids) or None


def peak_in(status: str) -> int:
    """The peak resident set that /proc/PID/status tells, in bytes; 0 where it tells none."""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _preemptions(pids: Iterable[int]) -> int | None:
    """Those of all threads that live; the threads of a launch live as long as its process."""
    found = [
        int(line.split()[1])
        for pid in pids
        for thread in _threads(pid)
        for line in _read(thread / "status").splitlines()
        if line.startswith("nonvoluntary_ctxt_switches:")
    ]
    return sum(found) if found else None


def _threads(pid: int) -> list[Path]:
    try:
        return list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


def _stolen_seconds(cpus: Iterable[int]) -> float | None:
    """The ninth field of a CPU's line in /proc/stat, proc(5), in ticks."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    lines = [line.split() for line in _read(_PROC / "stat").splitlines()]
    ticks = [int(line[8]) for line in lines if line and line[0] in wanted and len(line) > 8]  # noqa: PLR2004 (as above)
    return sum(ticks) / _ticks_a_second() if ticks and len(ticks) == len(wanted) else None


def _ticks_a_second() -> int:
    return os.sysconf("SC_CLK_TCK")


def _read(path: Path) -> str:
    """A file of the kernel; empty where its process has ended, or where it is not ours to look into."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
