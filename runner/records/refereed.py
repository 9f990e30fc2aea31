"""What the referee saw of a cell, as its record holds it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from runner.records.part import Amount, AnyFigure, Figure, Part, Positive

# Only these sizes of a ranked round occur, so that a reference can be asked beforehand for what its competitors will be
# asked for.
SIZES = (1, 5, 20, 100, 500, 2000, 10_000)
# A window whose claims do not fit is opened again so many times at most.
MOST_VOID = 4
# Below so many times the channel's slowest round trip a window says nothing.
TIMES_THE_CHANNEL = 20
# A training with a seed that nobody knew may take so many times as long as the one that is ranked.
MOST_TIMES_THE_KNOWN = 1.5
# Of a competitor's ranked window, what may lie between its timed repetitions.
MOST_BETWEEN = 0.5


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


class AuditFacts(Part, frozen=True, kw_only=True):
    """A training with a seed that nobody knew before its window opened, in the process of the ranked one.

    ``seconds`` passed between `go` and `done`; ``timed_seconds`` and ``between_seconds`` are claimed.
    """

    seed: Amount
    seconds: Figure
    timed_seconds: Figure
    between_seconds: Figure


class FinalWeights(Part, frozen=True, kw_only=True):
    """What the referee earned with the final weights: greedy episodes of a seed that no training has."""

    episodes: Positive
    seed: Amount
    mean: AnyFigure
    deviation: Figure


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
        audit: A second training, with a seed that nobody knew; absent where there was none.
        final_weights: The returns of a training's final weights, played by the referee; absent where it did not.
    """

    nonce: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
    asked: Annotated[tuple[Amount, ...], Meta(min_length=1)]
    windows: Annotated[tuple[WindowFacts, ...], Meta(min_length=1)]
    void_windows: Amount
    channel_seconds: Figure
    ready_seconds: Figure
    vmhwm_bytes: Positive | None
    audit: AuditFacts | UnsetType = UNSET
    final_weights: FinalWeights | UnsetType = UNSET

    @property
    def telling(self) -> bool:
        """Whether the ranked window is long enough to say anything."""
        return self.windows[-1].seconds >= TIMES_THE_CHANNEL * self.channel_seconds

    @property
    def mostly_timed(self) -> bool:
        """Whether the timed repetitions fill most of the ranked window."""
        last = self.windows[-1]
        return last.between_seconds <= MOST_BETWEEN * last.seconds


def numbered(size: int) -> range:
    """The numbers of a ranked round's repetitions: those of two sizes have none in common."""
    return range(size, 2 * size)
