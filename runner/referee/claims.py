"""What an implementation claims of a window, and what a window may hold that nothing claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.records.refereed import MOST_BETWEEN, TIMES_THE_CHANNEL
from runner.records.verdicts import calls_of, claimed_seconds, window_words
from runner.referee.messages import Done

# Of a window, what may pass unclaimed beside the channel: reading the order and writing the answer.
_UNCLAIMED_SHARE = 0.02
# Of a window, the wait for a processor that excuses what nothing claims. Without a bound, a launch that sleeps could make
# its window as long as it likes, and with it all that is allowed.
_WAIT_SHARE = 0.1
# Two clocks of one machine read within one window; the rest is rounding.
_ROUNDING_SHARE = 1e-6
# A competitor may prepare and digest for this share of its own window; or for a few times as long as the reference does,
# but not beyond most of the window. From half of it on nothing is ranked (`records.refereed`): what hides there could
# make it look more than twice as fast. On a slow machine the digest of a short call's outputs takes as long as the call.
_ALWAYS_SHARE, _TIMES_THE_REFERENCE, _MOST_SHARE = 0.1, 4.0, 0.75


@dataclass(frozen=True, kw_only=True)
class Claims:
    """How the claims of a cell are read.

    Attributes:
        headline: the metric that is ranked.
        calls: how many calls a repetition has; figures are seconds a call.
    """

    headline: str
    calls: int

    @classmethod
    def of(cls, headline: str, parameters: Mapping[str, Any]) -> "Claims":
        """Those of a benchmark and a cell's parameters."""
        return cls(headline=headline, calls=calls_of(parameters))

    def seconds(self, done: Done) -> float:
        """All seconds that a round claims as timed."""
        return claimed_seconds(done.metrics.get(self.headline), calls=self.calls)


@dataclass(frozen=True, kw_only=True)
class Account:
    """The seconds of one window.

    Attributes:
        window: all of it.
        timed: what is claimed as timed.
        between: what is claimed beside that.
        channel: the launch's slowest round trip.
        reference: what the reference claims to need beside so many timed repetitions; None for the reference itself.
        computed: the processor time of all processes of the launch within the window; None if unknown.
    """

    window: float
    timed: float
    between: float
    channel: float
    reference: float | None
    computed: float | None = None

    @property
    def unclaimed(self) -> float:
        """What nothing claims; below zero where more is claimed than passed."""
        return self.window - self.timed - self.between

    @property
    def hidden(self) -> float:
        """What nothing claims, less the time in which the launch waited for a processor.

        A busy machine makes a launch wait. Of a window a tenth may be such a wait.
        """
        if self.computed is None:
            return self.unclaimed
        computed = self.computed - self.timed - self.between
        return max(min(self.unclaimed, computed), self.unclaimed - _WAIT_SHARE * self.window)

    @property
    def allowed(self) -> float:
        """What may be unclaimed."""
        return self.channel + _UNCLAIMED_SHARE * self.window

    @property
    def telling(self) -> bool:
        """Whether the window is long enough to say anything."""
        return self.window >= TIMES_THE_CHANNEL * self.channel

    @property
    def mostly_timed(self) -> bool:
        """Whether what is timed fills at least half of the window; the reference is bounded by nothing."""
        return self.reference is None or self.between <= MOST_BETWEEN * self.window

    @property
    def too_much_between(self) -> bool:
        """Whether a long enough window holds too much beside the timed parts. A longer window then holds more of it."""
        return self.telling and (self.between > self.most_between or not self.mostly_timed)

    @property
    def overdrawn(self) -> bool:
        """Whether more is claimed than passed."""
        return self.unclaimed < -_ROUNDING_SHARE * self.window

    @property
    def sound(self) -> bool:
        """Whether the window is long enough and mostly timed, and the claims fit it."""
        return self.telling and self.mostly_timed and not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the claims. A window may be too short besides: that is the machine's fault."""
        found = {
            "more is claimed than passed": self.overdrawn,
            f"{self.hidden:.3g} s are claimed by nothing, {self.allowed:.3g} s may be": self.hidden
            > self.allowed,
            f"beside the timed parts {self.most_between:.3g} s may be": self.between > self.most_between,
        }
        return tuple(what for what, is_so in found.items() if is_so)

    @property
    def most_between(self) -> float:
        """What may be claimed beside the timed parts."""
        if self.reference is None:
            return self.window
        as_reference = min(_TIMES_THE_REFERENCE * self.reference, _MOST_SHARE * self.window)
        return max(as_reference, _ALWAYS_SHARE * self.window)

    def __str__(self) -> str:
        return window_words(timed=self.timed, between=self.between, window=self.window)
