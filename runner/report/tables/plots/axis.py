"""A logarithmic axis: from a value to a place, and the round numbers on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LogAxis:
    """Values from ``low`` to ``high``, both above 0, on the places from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, of_decade: Sequence[int] = (1, 2, 5)) -> list[float]:
        """These numbers times each power of ten, as far as they lie on the axis."""
        first, last = (math.floor(math.log10(end)) for end in (self.low, self.high))
        values = [tick * 10.0**decade for decade in range(first, last + 1) for tick in of_decade]
        return [value for value in values if self.low <= value <= self.high]
