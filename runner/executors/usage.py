"""The memory and processes of a local launch, counted from outside because there is no container.

The kernel's own limits do not fit. RLIMIT_AS bounds addresses, and PyTorch maps far more addresses than it touches.
RLIMIT_NPROC counts all processes of a user, and none of root's.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind

_PROC = Path("/proc")
# Fields of /proc/PID/stat after the name in parentheses: proc(5) counts from 1 and the name is the second.
# Times are user and system time in ticks, own and of ended children.
_SESSION, _TIMES, _THREADS, _RESIDENT = 6 - 3, slice(14 - 3, 18 - 3), 20 - 3, 24 - 3
_MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Bytes of memory; processes and threads together, as ``pids`` counts them."""

    memory_bytes: int
    tasks: int

    def over(self, limits: Limits) -> Failure | None:
        """The limit that this usage exceeds, or None."""
        if self.memory_bytes > limits.memory_bytes:
            return Failure(
                kind=FailureKind.OUT_OF_MEMORY,
                detail=f"killed with {self.memory_bytes / _MIB:.0f} MiB of memory, "
                f"of {limits.memory_bytes / _MIB:.0f} MiB that it may use",
            )
        if self.tasks > limits.pids:
            return Failure(
                kind=FailureKind.TOO_MANY_PROCESSES,
                detail=f"killed with {self.tasks} processes and threads, of {limits.pids} that it may have",
            )
        return None


def can_be_seen() -> bool:
    """Whether this system shows the memory of its processes (Linux does)."""
    return (_PROC / "self" / "stat").exists()


def usage_of(session: int, *, exact_beyond: int = 0) -> Usage:
    """The usage of all processes of one session; zero where the system does not show it.

    Args:
        session: the process that leads it.
        exact_beyond: the bytes up to which shared pages may count with each process. Counting them once is slower,
            and stops the process meanwhile.
    """
    found = tuple(members(session))
    resident = sum(each.resident_bytes for each in found)
    if resident > exact_beyond:
        resident = sum(map(_proportional_bytes, found))
    return Usage(memory_bytes=resident, tasks=sum(each.threads for each in found))


@dataclass(frozen=True, kw_only=True)
class Member:
    """One process of a session. ``ticks`` are its processor time, with that of its ended children."""

    pid: int
    resident_bytes: int
    threads: int
    ticks: int


def members(session: int) -> Iterator[Member]:
    """The processes of the session that ``session`` leads; none where the system does not show them."""
    page = os.sysconf("SC_PAGE_SIZE")
    for pid in filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ()):  # noqa: PTH208 (once a second: the fastest)
        text = _read(f"{pid}/stat")
        # A name may hold any character, even blanks and parentheses.
        fields = text.rpartition(")")[2].split()
        if fields and int(fields[_SESSION]) == session:
            resident = int(fields[_RESIDENT]) * page
            yield Member(
                pid=int(pid),
                resident_bytes=resident,
                threads=int(fields[_THREADS]),
                ticks=sum(map(int, fields[_TIMES])),
            )


def _proportional_bytes(member: Member) -> int:
    """The memory of a process, with only its share of each shared page."""
    for line in _read(f"{member.pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return member.resident_bytes


def _read(name: str) -> str:
    """A file of /proc; empty where the process has ended or belongs to another user."""
    try:
        with open(f"{_PROC}/{name}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (as above)
            return file.read()
    except OSError:
        return ""
