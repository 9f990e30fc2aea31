"""A finding of another report, and what this run says of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from runner.figures.statistics import Interval, Verdict, verdict


class Outcome(Enum):
    """Whether a finding holds here. Only intervals decide."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    OPEN = "inconclusive here"
    NOT_MEASURED = "not measured here"

    @property
    def opposite(self) -> "Outcome":
        """The outcome of the opposite claim."""
        return {Outcome.HOLDS: Outcome.FAILS, Outcome.FAILS: Outcome.HOLDS}.get(self, self)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """``claim`` is in our words. ``figures`` are those of this run, or what it lacks."""

    claim: str
    outcome: Outcome
    figures: tuple[str, ...]


def unmeasured(claim: str, lacking: str) -> Finding:
    """A finding without the figures that would decide it; ``lacking`` says which."""
    return Finding(claim=claim, outcome=Outcome.NOT_MEASURED, figures=(lacking,))


def faster(ratio: Interval) -> Outcome:
    """Whether a ratio "how many times faster" is above 1."""
    match verdict(ratio):
        case Verdict.FASTER:
            return Outcome.HOLDS
        case Verdict.SLOWER:
            return Outcome.FAILS
        case _:
            return Outcome.OPEN


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a claim with several parts: one that fails refutes it, and one that is open leaves it open."""
    found = set(outcomes)
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS)
    return next((each for each in order if each in found), Outcome.NOT_MEASURED)
