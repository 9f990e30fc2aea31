"""How many repetitions a round has. The referee decides it; an implementation decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.records.refereed import SIZES
from runner.referee.messages import MOST_REPETITIONS

# The first repetition of a round that is not ranked: beyond those of all that are, and no later than its calls have
# numbers (docs/protocol.md).
REHEARSED = 2**16
# A window so many times longer than the slowest round trip keeps the channel's share below 4 percent.
_TIMES_THE_CHANNEL = 25
# No competitor is expected to be so many times as fast as its reference.
_FASTEST = 1000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the matrix asks for: the profile's sizes of an operation; a training has one repetition.

    Attributes:
        training: whether it is a training, whose one repetition is ranked.
        warmup: repetitions before the ranked round.
        repetitions: of the ranked round, unless the window would be too short or too long.
        seconds_limit: how long the ranked round may be, beyond its least repetitions; None without a limit.
        least_repetitions: of the ranked round, whatever the limit.
    """

    training: bool = False
    warmup: int = 0
    repetitions: int = 1
    seconds_limit: float | None = None
    least_repetitions: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, Any], *, training: bool) -> "Plan":
        """The plan in a cell's parameters; one repetition where they say nothing of it."""
        names = ("warmup", "repetitions", "seconds_limit", "least_repetitions")
        return cls(training=training, **{name: parameters[name] for name in names if name in parameters})

    @property
    def repeated(self) -> bool:
        """Whether several repetitions were asked for. One alone of an operation shows that the work is right."""
        return self.repetitions > 1

    def warm_up(self, seconds: float) -> int:
        """The size of the second round, where a repetition takes so many seconds; 0 where one was enough."""
        most = self.warmup if self.seconds_limit is None else self.seconds_limit / 2 / max(seconds, 1e-9)
        wanted = int(min(self.warmup, most, MOST_REPETITIONS))
        return wanted if wanted > 1 else 0

    def ranked_round(self, seconds: float, *, channel_seconds: float, most: int = MOST_REPETITIONS) -> int:
        """The size of the ranked round.

        Args:
            seconds: what a repetition takes, by the window of an earlier round.
            channel_seconds: the slowest round trip of this launch's channel.
            most: the largest size that may be chosen.
        """
        if not self.repeated:
            return 1
        seconds = max(seconds, 1e-9)
        wanted: float = self.repetitions
        if self.seconds_limit is not None:
            wanted = min(wanted, self.seconds_limit / seconds)
        size = max(
            min(SIZES, key=lambda size: max(size / wanted, wanted / size)),
            _size_above(self.least_repetitions),
            _size_above(_TIMES_THE_CHANNEL * channel_seconds / seconds),
        )
        return min(size, most)

    def sizes(self, seconds: float, *, channel_seconds: float) -> tuple[int, ...]:
        """All sizes that a ranked round of a competitor may have.

        Args:
            seconds: what a repetition takes the reference.
            channel_seconds: the slowest round trip of the reference's channel.
        """
        if not self.repeated:
            return (1,)
        least = _size_above(self.least_repetitions)
        fast = self.ranked_round(seconds / _FASTEST, channel_seconds=channel_seconds)
        most = max(fast, longer(_size_above(self.repetitions)))
        return tuple(size for size in SIZES if least <= size <= most)


def longer(repetitions: int) -> int:
    """The next size: a busy machine takes as much of a long window as of a short one."""
    return _size_above(repetitions + 1)


def _size_above(wanted: float) -> int:
    return next((size for size in SIZES if size >= wanted), SIZES[-1])
