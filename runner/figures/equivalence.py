"""Whether two implementations learn equally well: whether their mean returns lie within a margin.

The margin was set before the runs. With few seeds "no difference found" says nothing, so the data must show that the
difference is small. Two one-sided tests at 5 % each equal a 90 % interval of the difference of the means. The returns
are equivalent where the whole interval lies within the margin.

Returns at a ceiling are far from normal. Nearly all seeds may reach 500 and one in twenty fail. The failures alone
can move the mean by the whole margin. With few seeds Student's t and the bootstrap both miss them. The interval here
uses the bounds of a return instead. Its sources are Gaffke (2005), "Three test statistics for a nonparametric
one-sided hypothesis on the mean of a nonnegative variable", and Learned-Miller and Thomas (2020), "A new confidence
interval for the mean of a bounded random variable". The bound is added to the values as if it had been observed. The
values get random weights that sum to one. The weighted means are the means that the data leave possible. For
yes-or-no values the interval is the exact one of Clopper and Pearson. The second paper shows by simulation that it
errs no more often than stated. This module's tests show the same for differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from runner.matrix import EquivalenceRule

TAIL = 0.05
DRAWS = 10_000
_SEED = 42


class Equivalence(Enum):
    """The verdict on two implementations' returns."""

    EQUIVALENT = "equivalent"
    NOT_EQUIVALENT = "not equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference of two means with its 90 % interval. ``n`` is the smaller number of seeds."""

    value: float
    low: float
    high: float
    n: int


def difference(
    ours: Sequence[float], reference: Sequence[float], rule: EquivalenceRule, *, draws: int = DRAWS
) -> Difference:
    """The mean of ``ours`` minus the mean of ``reference``.

    The order of the values changes nothing. Swapping the sides mirrors the interval, except for the noise of the
    draws.

    Raises:
        ValueError: a side is empty.
    """
    if not ours or not reference:
        raise ValueError("a difference needs a return on either side")
    ours, reference = sorted(ours), sorted(reference)
    worst = min(rule.worst, ours[0], reference[0])
    best = max(rule.best, ours[-1], reference[-1])
    generator = np.random.default_rng(_SEED)

    def means(values: Sequence[float]) -> NDArray[np.float64]:
        weights = generator.standard_exponential((draws, len(values)))
        return np.asarray(weights @ np.array(values) / weights.sum(axis=1))

    high = means([*ours, best]) - means([worst, *reference])
    low = means([worst, *ours]) - means([*reference, best])
    return Difference(
        value=float(np.mean(ours) - np.mean(reference)),
        low=float(np.quantile(low, TAIL)),
        high=float(np.quantile(high, 1 - TAIL)),
        n=min(len(ours), len(reference)),
    )


def judged(found: Difference, rule: EquivalenceRule) -> Equivalence:
    """The verdict.

    It is inconclusive with fewer seeds than were planned. Looking again after each seed, and stopping when the
    interval fits, would err more often than 5 %.
    """
    if found.n < rule.seeds:
        return Equivalence.INCONCLUSIVE
    if -rule.margin < found.low and found.high < rule.margin:
        return Equivalence.EQUIVALENT
    if found.low > rule.margin or found.high < -rule.margin:
        return Equivalence.NOT_EQUIVALENT
    return Equivalence.INCONCLUSIVE
