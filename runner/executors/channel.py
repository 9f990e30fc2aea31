"""The referee's line to one process: what an executor offers of it."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is read of a launch from outside while it waits; null where it cannot be read.

    Attributes:
        cpu_seconds: all processor time of its processes so far.
        preemptions: how often the kernel took the processor from one of its threads (involuntary context switches).
        stolen_seconds: what the hypervisor gave to others of the time of its CPUs (steal), by the machine's count.
        is_all: whether the processor time is that of a control group, which no process of the launch can leave.
    """

    cpu_seconds: float | None = None
    preemptions: int | None = None
    stolen_seconds: float | None = None
    is_all: bool = False

    def since(self, before: "Seen") -> "Seen":
        """What was used since then. A thread takes its count along."""
        return Seen(
            cpu_seconds=_difference(before.cpu_seconds, self.cpu_seconds),
            preemptions=_difference(before.preemptions, self.preemptions),
            stolen_seconds=_difference(before.stolen_seconds, self.stolen_seconds),
            is_all=before.is_all and self.is_all,
        )


UNSEEN = Seen()


class Channel(Protocol):
    """The stdin of a process, and a look at it from outside."""

    def send(self, line: str) -> float:
        """Write a line; the time (time.monotonic) just before. A process that is gone gets nothing."""

    def close(self) -> None:
        """End its stdin."""

    def look(self) -> Seen:
        """What the launch has used so far."""

    def peak_bytes(self) -> int | None:
        """The sum of the peak resident sets of its processes so far; None where it cannot be read."""


def _difference(before: _Number | None, after: _Number | None) -> _Number | None:
    return None if before is None or after is None else max(type(after)(0), after - before)
