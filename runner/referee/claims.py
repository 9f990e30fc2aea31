"""What an implementation claims of a window, and what a window may hold that nothing claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.referee.messages import Done

# Of a window, what may pass unclaimed beside the channel: reading the order and writing the answer.
_UNCLAIMED_SHARE = 0.02
# Two clocks of one machine read within one window; the rest is rounding.
_ROUNDING_SHARE = 1e-6
# Below so many times the channel's slowest round trip a window says nothing.
_TIMES_THE_CHANNEL = 20


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
        return cls(headline=headline, calls=int(parameters.get("calls", 1)))

    def seconds(self, done: Done) -> float:
        """All seconds that a round claims as timed."""
        value = done.metrics.get(self.headline, 0.0)
        return sum(value) * self.calls if isinstance(value, tuple) else float(value)


@dataclass(frozen=True, kw_only=True)
class Account:
    """One window's seconds: its whole, what is claimed as timed, what is claimed beside it, the slowest round trip."""

    window: float
    timed: float
    between: float
    channel: float

    @property
    def unclaimed(self) -> float:
        """What nothing claims; below zero where more is claimed than passed."""
        return self.window - self.timed - self.between

    @property
    def allowed(self) -> float:
        """What may be unclaimed."""
        return self.channel + _UNCLAIMED_SHARE * self.window

    @property
    def telling(self) -> bool:
        """Whether the window is long enough to say anything."""
        return self.window >= _TIMES_THE_CHANNEL * self.channel

    @property
    def overdrawn(self) -> bool:
        """Whether more is claimed than passed."""
        return self.unclaimed < -_ROUNDING_SHARE * self.window

    @property
    def sound(self) -> bool:
        """Whether the window is long enough, and the claims fit it."""
        return self.telling and not self.overdrawn and self.unclaimed <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.timed:.3g} s timed and {self.between:.3g} s between, in a window of {self.window:.3g} s"
        )
