"""How many repetitions a round has. The referee decides it; an implementation decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.referee.messages import MOST_REPETITIONS

# Only these sizes occur, so that a reference can be asked beforehand for what its competitors will be asked for.
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, MOST_REPETITIONS)
# A window so many times longer than the slowest round trip keeps the channel's share below 4 percent.
_TIMES_THE_CHANNEL = 25


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the matrix asks for: the profile's sizes of an operation; a training has one repetition.

    Attributes:
        warmup: repetitions before the ranked round.
        repetitions: of the ranked round, unless the window would be too short or too long.
        seconds_limit: how long the ranked round may be, beyond its least repetitions; None without a limit.
        least_repetitions: of the ranked round, whatever the limit.
    """

    warmup: int = 0
    repetitions: int = 1
    seconds_limit: float | None = None
    least_repetitions: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> "Plan":
        """The plan in a cell's parameters; one repetition where they say nothing of it."""
        names = ("warmup", "repetitions", "seconds_limit", "least_repetitions")
        return cls(**{name: parameters[name] for name in names if name in parameters})

    @property
    def ranked(self) -> bool:
        """Whether several repetitions were asked for; one alone shows that the work is right, and has no window."""
        return self.repetitions > 1

    def sizes(self) -> tuple[int, ...]:
        """All sizes that a ranked round may have."""
        return SIZES if self.ranked else (1,)

    def warm_up(self, seconds: float) -> int:
        """The size of the second round, where a repetition takes so many seconds; 0 where one was enough."""
        most = self.warmup if self.seconds_limit is None else self.seconds_limit / 2 / max(seconds, 1e-9)
        wanted = min(self.warmup, most)
        return _size_below(wanted) if wanted > 1 else 0

    def ranked_round(self, seconds: float, *, channel_seconds: float) -> int:
        """The size of the ranked round.

        Args:
            seconds: what a repetition takes, by the window of an earlier round.
            channel_seconds: the slowest round trip of this launch's channel.
        """
        if not self.ranked:
            return 1
        seconds = max(seconds, 1e-9)
        wanted: float = self.repetitions
        if self.seconds_limit is not None:
            wanted = min(wanted, max(self.least_repetitions, self.seconds_limit / seconds))
        return _size_above(max(wanted, _TIMES_THE_CHANNEL * channel_seconds / seconds))


def longer(repetitions: int) -> int:
    """The next size: a busy machine takes as much of a long window as of a short one."""
    return _size_above(repetitions + 1)


def _size_above(wanted: float) -> int:
    return next((size for size in SIZES if size >= wanted), SIZES[-1])


def _size_below(wanted: float) -> int:
    return max(size for size in SIZES if size <= max(wanted, 1))
