"""What the referee saw of a cell, as its record holds it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from runner.records.part import Amount, Figure, Part, Positive

# Only these sizes of a ranked round occur, so that a reference can be asked beforehand for what its competitors will be
# asked for.
SIZES = (1, 5, 20, 100, 500, 2000, 10_000)
# A window whose claims do not fit is opened again so many times at most.
MOST_VOID = 4
# Below so many times the channel's slowest round trip a window says nothing.
TIMES_THE_CHANNEL = 20


class WindowFacts(Part, frozen=True, kw_only=True):
    """One round: how many repetitions, and what passed between `go` and `done` by the referee's clock.

    ``cpu_seconds`` is read from outside, null where it cannot be; ``between_seconds`` is what the implementation
    claims to have spent between its timed repetitions. ``preemptions`` are the involuntary context switches of the
    launch's threads, and ``stolen_seconds`` is what a hypervisor took of its CPUs. Both are null where unknown, and
    absent in older records.
    """

    repetitions: Positive
    seconds: Figure
    cpu_seconds: Figure | None
    between_seconds: Figure
    preemptions: Amount | UnsetType | None = UNSET
    stolen_seconds: Figure | UnsetType | None = UNSET


class RefereeFacts(Part, frozen=True, kw_only=True):
    """What the referee drew and saw.

    Attributes:
        nonce: What decided the inputs.
        asked: The repetitions whose outputs were asked for after the window.
        windows: Each round's, the ranked one last.
        void_windows: How many were opened again because the claims did not fit them, or because they were too short.
        channel_seconds: The slowest round trip without work.
        ready_seconds: From the start of the process until it was ready.
        vmhwm_bytes: The peak resident set of the launch's processes when the last window closed, read from outside;
            null where it cannot be.
    """

    nonce: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
    asked: Annotated[tuple[Amount, ...], Meta(min_length=1)]
    windows: Annotated[tuple[WindowFacts, ...], Meta(min_length=1)]
    void_windows: Amount
    channel_seconds: Figure
    ready_seconds: Figure
    vmhwm_bytes: Positive | None

    @property
    def telling(self) -> bool:
        """Whether the ranked window is long enough to say anything."""
        return self.windows[-1].seconds >= TIMES_THE_CHANNEL * self.channel_seconds


def numbered(size: int) -> range:
    """The numbers of a ranked round's repetitions: those of two sizes have none in common."""
    return range(size, 2 * size)
