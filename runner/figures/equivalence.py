"""Whether two implementations learn the same: their mean returns lie within a margin that was set before the runs.

"No difference found" says nothing at few seeds. So the burden is turned around: what is to be shown is that the
difference is small. Two one-sided tests at 5 % each are a 90 % interval of the difference of the means, and the returns
are equivalent where all of it lies within the margin.

Returns at a ceiling are far from normal: nearly all seeds may reach 500 and one in twenty fail, which is a mean's whole
margin, unseen among few seeds by Student's t and by the bootstrap alike. A return has bounds, and they are made use
of: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable"; Learned-Miller and Thomas (2020), "A new confidence interval for the mean of a bounded random variable".
The means of values with random weights that sum to one are the means that the data leave possible, once the bound has
been added to the values as if it had been seen. For yes-or-no values that is the exact interval of Clopper and Pearson;
that it errs at most as often as it says is shown there by simulation, and for differences by this module's tests.
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
    """What is known of two implementations' returns."""

    EQUIVALENT = "equivalent"
    NOT_EQUIVALENT = "not equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The mean of one side less that of the other, with its 90 % interval; ``n`` is the smaller number of seeds."""

    value: float
    low: float
    high: float
    n: int


def difference(
    ours: Sequence[float], reference: Sequence[float], rule: EquivalenceRule, *, draws: int = DRAWS
) -> Difference:
    """The mean of ``ours`` less that of ``reference``.

    Depends on neither side's order. Swapping the sides turns the interval over, to the last draws' noise.

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
    """The verdict; with fewer seeds than were planned there is none, whatever they show.

    Whoever looks again after each seed, and stops where the interval happens to fit, errs more often than 5 %.
    """
    if found.n < rule.seeds:
        return Equivalence.INCONCLUSIVE
    if -rule.margin < found.low and found.high < rule.margin:
        return Equivalence.EQUIVALENT
    if found.low > rule.margin or found.high < -rule.margin:
        return Equivalence.NOT_EQUIVALENT
    return Equivalence.INCONCLUSIVE
