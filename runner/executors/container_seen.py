"""A look at a running container from outside: through the files of this kernel, or through its daemon and a probe."""

import contextlib
from collections.abc import Iterable
from typing import Any, Protocol

from docker.models.containers import Container

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.channel import UNSEEN, Seen
from runner.executors.outside import peak_in, peak_of_container, seen_of_container
from runner.executors.probe import Probe

# What an answer of another form raises.
_ODD = (KeyError, TypeError, ValueError)


class Outside(Protocol):
    """The way to look at one container. A look that ``is_far`` costs a round trip to its machine."""

    is_far: bool

    def started(self) -> None:
        """The container runs."""

    def look(self) -> Seen:
        """What it has used so far."""

    def peak_bytes(self) -> int | None:
        """The sum of the peak resident sets of its processes; None where it cannot be read."""


class Near:
    """A container on this kernel."""

    is_far = False

    def __init__(self, container: Container, cpus: Iterable[int]) -> None:
        self._container = container
        self._cpus = tuple(cpus)
        self._init = 0

    def started(self) -> None:
        """Its first process, which only waits for the others, has a number."""
        self._container.reload()
        self._init = int(self._container.attrs["State"]["Pid"])

    def look(self) -> Seen:
        """What its control group and its processes used."""
        return seen_of_container(self._init, str(self._container.id), self._cpus)

    def peak_bytes(self) -> int | None:
        """The peaks of its processes."""
        return peak_of_container(self._init, str(self._container.id))


class Far:
    """A container on another machine. Where its daemon or its kernel does not tell a figure, it is unknown.

    The daemon knows the processor time of the control group. Only the kernel knows the peaks of processes, and a probe
    of that machine reads them.
    """

    is_far = True

    def __init__(self, container: Container, probe: Probe | None) -> None:
        self._container = container
        self._probe = probe

    def started(self) -> None:
        """Nothing has to be known."""

    def look(self) -> Seen:
        """The processor time of its control group."""
        with contextlib.suppress(*BROKEN_CONNECTION, *_ODD):
            found: Any = self._container.stats(stream=False, one_shot=True)
            nanoseconds = int(found["cpu_stats"]["cpu_usage"]["total_usage"])
            # A launch that waits has used some; 0 is what a daemon says that does not know.
            return Seen(cpu_seconds=nanoseconds / 1e9, is_all=True) if nanoseconds else UNSEEN
        return UNSEEN

    def peak_bytes(self) -> int | None:
        """The peaks of its processes, where the daemon gives their numbers on that machine."""
        if self._probe is None:
            return None
        with contextlib.suppress(*BROKEN_CONNECTION, *_ODD):
            pids = _processes(self._container.top())
            statuses, groups = ({pid: f"/proc/{pid}/{name}" for pid in pids} for name in ("status", "cgroup"))
            read = self._probe.read((*statuses.values(), *groups.values()))
            # Some daemons number processes as the container does, and others on that machine have these numbers.
            own = [pid for pid in pids if str(self._container.id) in (read(groups[pid]) or "")]
            return sum(peak_in(read(statuses[pid]) or "") for pid in own) or None
        return None


def _processes(listed: Any) -> list[int]:
    """The numbers that a daemon's list of processes gives, without the first process, which waits for the others."""
    titles = [str(each) for each in listed["Titles"]]
    pid, parent = titles.index("PID"), titles.index("PPID")
    parents = {int(row[pid]): int(row[parent]) for row in listed["Processes"]}
    return [number for number, above in parents.items() if above in parents]
