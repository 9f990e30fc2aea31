"""The process that made a thing which can outlive a crash, and whether that process still runs.

A runner that is killed outright removes nothing. So each container, volume, temporary directory, half-written file
and local process carries the token of its runner. A later runner removes the things of dead runners.
"""

import os
import platform
import re
import sys
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path

import psutil

_TOKEN = re.compile(
    r"(?P<boot>[0-9a-f]{12})\.(?P<namespace>[0-9]{1,20})\.(?P<pid>[0-9]{1,10})\.(?P<started>[0-9]{1,20})"
)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Fields of /proc/PID/stat after the name in parentheses: proc(5) counts from 1 and the name is the second.
_STATE, _START_TIME = 3 - 3, 22 - 3


class Fate(Enum):
    """The state of an owner, as far as this process can tell."""

    ALIVE = "alive"
    DEAD = "dead"
    # The owner ran on another machine, boot or process table, where its process number means something else.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Owner:
    """One process. A process number can be reused; a number with its start time and boot cannot."""

    boot: str
    namespace: str
    pid: int
    started: str

    def __str__(self) -> str:
        """The token. It fits a label, a file name and an environment variable, and names no host and no path."""
        return f"{self.boot}.{self.namespace}.{self.pid}.{self.started}"

    @classmethod
    def current(cls) -> "Owner":
        """This process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> "Owner":
        """The owner that stands for a process which this one sees."""
        return cls(boot=_boot(), namespace=_namespace(), pid=pid, started=_start_time(pid) or "0")

    @classmethod
    def named_in(cls, text: str) -> "Owner | None":
        """The owner whose token stands in ``text``, or None."""
        found = _TOKEN.search(text)
        if found is None:
            return None
        return cls(found["boot"], found["namespace"], int(found["pid"]), found["started"])

    @property
    def fate(self) -> Fate:
        """The state of the owner. It is dead only where that is certain, never where this process cannot tell."""
        if (self.boot, self.namespace) != (_boot(), _namespace()):
            return Fate.UNKNOWN
        if not _exists(self.pid):
            return Fate.DEAD
        started = _start_time(self.pid)
        # A process that exists and hides its start time belongs to another user: it counts as alive.
        return Fate.ALIVE if started in (None, self.started) else Fate.DEAD


def _boot() -> str:
    """This boot of this kernel, as the start of a hash."""
    try:
        text = _BOOT_ID.read_text(encoding="ascii")
    except OSError:
        text = f"{platform.node()} {psutil.boot_time():.0f}"
    return sha256(text.encode()).hexdigest()[:12]


def _namespace() -> str:
    """The number of the process table that this process sees: a container has one of its own."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return "0"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # Another user's process. A listing of /proc can hide it; this call cannot.
        return True
    return True


def _start_time(pid: int) -> str | None:
    """When a process started; "ended" for a zombie, None where the system does not show it.

    The unit is the kernel's ticks since boot where it counts them: a time of day would move with the clock.
    """
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None if _exists(pid) else "ended"
        fields = text.rpartition(")")[2].split()
        return "ended" if fields[_STATE] in ("Z", "X", "x") else fields[_START_TIME]
    try:
        process = psutil.Process(pid)
        return "ended" if process.status() == psutil.STATUS_ZOMBIE else str(int(process.create_time() * 100))
    except psutil.NoSuchProcess:
        return "ended"
    except psutil.Error:
        return None
