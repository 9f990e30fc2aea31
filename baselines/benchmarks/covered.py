"""The calls of a repetition that its digest covers, where all of them would take longer than the calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from baselines.contract import protocol
from baselines.contract.numbers import Numbers


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """A case whose digests cover one of `each` calls."""

    each: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("each")
        if self.each > self.calls:
            raise ValueError("'each' must be at most 'calls': a digest of nothing shows nothing")

    def covered(self, numbers: Numbers) -> slice:
        """Which calls they are: a repetition's first number decides where they begin."""
        return slice((int(numbers[0]) >> 16) % self.each, None, self.each)


class Asked(NamedTuple):
    """Of a repetition: what each call works on, and the calls that are covered."""

    calls: Sequence[Any]
    covered: slice


class Answered(NamedTuple):
    """What each call of a repetition gave, and the calls that are covered."""

    calls: list[Any]
    covered: slice
