"""The referee's line to one process: what an executor offers of it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is read of a launch from outside while it waits; null where it cannot be read.

    Attributes:
        cpu_seconds: all processor time of its processes so far.
        vmhwm_bytes: the sum of its processes' peak resident sets.
    """

    cpu_seconds: float | None
    vmhwm_bytes: int | None


UNSEEN = Seen(cpu_seconds=None, vmhwm_bytes=None)


class Channel(Protocol):
    """The stdin of a process, and a look at it from outside."""

    def send(self, line: str) -> float:
        """Write a line; the time (time.monotonic) just before. A process that is gone gets nothing."""

    def close(self) -> None:
        """End its stdin."""

    def look(self) -> Seen:
        """What the launch has used so far."""
