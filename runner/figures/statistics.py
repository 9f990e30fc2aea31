"""Figures and their intervals: pure functions over the values that processes measured.

A figure is the median over processes of each process's median over repetitions. Repetitions of one process share its
memory layout and its moment, so only processes are independent. Intervals are 95 % percentile intervals of a
hierarchical bootstrap, with 10,000 resamples and a fixed seed. Processes are drawn with replacement, then repetitions
within each drawn process. ``tools.simulate_coverage`` simulates how often such an interval holds the truth. The
methodology page shows the result.

The order of processes changes no result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
LEAST_PROCESSES = 5
# One process says nothing about another.
_LEAST_OF_AN_INTERVAL = 2
_SEED = 42
# Iglewicz and Hoaglin (1993), "How to detect and handle outliers".
_OUTLIER_SCORE = 3.5
_FARTHEST = 1e100

Floats = NDArray[np.float64]
Processes = Sequence[Sequence[float]]
_Frozen = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value with its 95 % interval, in the unit of what was measured.

    ``n`` is the number of independent processes; for a ratio, the smaller number. ``low`` and ``high`` are None where
    n is 1: one process says nothing about another.
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def ranked(self) -> bool:
        """Whether there are enough processes to rank by. A figure of fewer than five is shown and marked."""
        return self.n >= LEAST_PROCESSES


class Verdict(Enum):
    """The verdict on a ratio, by its interval."""

    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    NOT_RANKED = "not ranked"


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and sample standard deviation (ddof 1; None for one value) over ``n`` values."""

    mean: float
    deviation: float | None
    n: int


def figure(processes: Processes) -> float:
    """The median over processes of each process's median.

    Raises:
        ValueError: there is no process, or one without a value.
    """
    return _median_of_medians(_freeze(processes))


def figure_interval(processes: Processes, *, resamples: int = RESAMPLES) -> Interval:
    """The figure of ``processes`` (each a sequence of repetitions) with its interval.

    Raises:
        ValueError: there is no process, or one without a value.
    """
    return _figure_interval(_hashable(processes), resamples)


def ratio_interval(numerator: Processes, denominator: Processes, *, resamples: int = RESAMPLES) -> Interval:
    """The ratio of two figures with its interval.

    The sides are resampled independently (unpaired processes). Swapping the sides gives the reciprocal, up to the
    last bits, so the order of sides decides no verdict.

    Raises:
        ValueError: a side is empty, has a value that is not above zero, or is too far from the other for a float.
    """
    return _ratio_interval(_hashable(numerator), _hashable(denominator), resamples)


def verdict(ratio: Interval) -> Verdict:
    """The verdict of a ratio "how many times faster". It is conclusive only where the interval excludes 1."""
    if not ratio.ranked or ratio.low is None or ratio.high is None:
        return Verdict.NOT_RANKED
    if ratio.low > 1:
        return Verdict.FASTER
    if ratio.high < 1:
        return Verdict.SLOWER
    return Verdict.INCONCLUSIVE


def outliers(processes: Processes) -> tuple[int, ...]:
    """The indexes of outliers in ``processes``, by their medians.

    Outliers are flagged, never dropped. An outlier's modified z-score 0.6745 * |x - median| / MAD is above 3.5. Where
    more than half of the medians are equal (MAD 0), the score is |x - median| / (1.2533 * mean absolute deviation).
    """
    medians = np.array([np.median(values) for values in processes])
    distances = np.abs(medians - np.median(medians))
    scale = float(np.median(distances)) / 0.6745 or float(np.mean(distances)) * 1.253314
    if scale == 0:
        return ()
    return tuple(int(index) for index in np.flatnonzero(distances / scale > _OUTLIER_SCORE))


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation.

    Raises:
        ValueError: ``values`` is empty.
    """
    if not values:
        raise ValueError("no values")
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(mean=float(np.mean(values)), deviation=deviation, n=len(values))


def interquartile_mean(values: Sequence[float], *, resamples: int = RESAMPLES) -> Interval:
    """The mean without the lowest and highest quarter (floor(n / 4) values each), with its interval.

    After Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical precipice".

    Raises:
        ValueError: ``values`` is empty.
    """
    if not values:
        raise ValueError("no values")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    value = float(_trimmed_mean(ordered))
    if n < _LEAST_OF_AN_INTERVAL:
        return Interval(value=value, low=None, high=None, n=n)
    drawn = np.random.default_rng(_SEED).integers(n, size=(resamples, n))
    low, high = _percentiles(_trimmed_mean(np.sort(ordered[drawn], axis=1)))
    return Interval(value=value, low=low, high=high, n=n)


def resampled_medians(ordered: Floats, size: int, generator: np.random.Generator) -> Floats:
    """``size`` draws from the distribution of the median of a bootstrap resample of ``ordered``.

    A resample of R sorted values maps R uniform draws to indexes by floor(R * U), which keeps their order. So its
    k-th smallest value is ``ordered[floor(R * U_k)]``. U_k is the k-th order statistic of R uniforms: U_k ~ Beta(k, R
    + 1 - k). An even R needs the two middle values. Given U_k, the other R - k draws lie uniformly above it. The
    least of these is U_k + (1 - U_k) * Beta(1, R - k). One or two draws replace R; the result is exact.

    Args:
        ordered: the values, ascending, shape (R,).
        size: how many medians.
        generator: where the randomness comes from.
    """
    count = ordered.size
    if count == 1:
        return np.full(size, ordered[0])
    rank = (count + 1) // 2
    lower = generator.beta(rank, count + 1 - rank, size)
    if count % 2:
        return ordered[_index(lower, count)]
    upper = lower + (1 - lower) * generator.beta(1, count - rank, size)
    return (ordered[_index(lower, count)] + ordered[_index(upper, count)]) / 2


def _index(uniform: Floats, count: int) -> NDArray[np.intp]:
    return np.minimum((count * uniform).astype(np.intp), count - 1)


def resampled_figures(processes: Processes, generator: np.random.Generator, resamples: int) -> Floats:
    """The figures of ``resamples`` hierarchical resamples of ``processes``, each in ascending order."""
    drawn = generator.integers(len(processes), size=(resamples, len(processes)))
    medians = np.empty(drawn.shape)
    for index, values in enumerate(processes):
        here = drawn == index
        medians[here] = resampled_medians(np.array(values), int(here.sum()), generator)
    medians.sort(axis=1)
    return _middle(medians)


# A page shows one row's figure, and its ratio to another row, in many places: each is computed once.
@lru_cache(maxsize=2048)
def _figure_interval(processes: _Frozen, resamples: int) -> Interval:
    frozen = _freeze(processes)
    value, n = _median_of_medians(frozen), len(frozen)
    if n < _LEAST_OF_AN_INTERVAL:
        return Interval(value=value, low=None, high=None, n=n)
    low, high = _percentiles(_resampled_figures(frozen, 0, resamples))
    return Interval(value=value, low=low, high=high, n=n)


@lru_cache(maxsize=2048)
def _ratio_interval(numerator: _Frozen, denominator: _Frozen, resamples: int) -> Interval:
    over, under = _freeze(numerator), _freeze(denominator)
    least = min(min(values) for values in (*over, *under))
    if least <= 0:
        raise ValueError("a ratio needs values above zero")
    # The values may have any origin; after this check no result leaves the range of floats.
    if max(max(values) for values in (*over, *under)) / _FARTHEST > least:
        raise ValueError("the values are too far apart for a ratio")
    value, n = _median_of_medians(over) / _median_of_medians(under), min(len(over), len(under))
    if n < _LEAST_OF_AN_INTERVAL:
        return Interval(value=value, low=None, high=None, n=n)
    # The data choose the random stream, and not their place, so that the swapped ratio is the reciprocal.
    first, second = (0, 1) if over <= under else (1, 0)
    logarithms = np.log(_resampled_figures(over, first, resamples)) - np.log(
        _resampled_figures(under, second, resamples)
    )
    low, high = _percentiles(logarithms)
    return Interval(value=value, low=math.exp(low), high=math.exp(high), n=n)


@lru_cache(maxsize=512)
def _resampled_figures(processes: _Frozen, stream: int, resamples: int) -> Floats:
    """Draws from one of two random streams.

    They are cached, because a table compares one side with several others.
    """
    return resampled_figures(processes, np.random.default_rng([_SEED, stream]), resamples)


def _middle(ordered: Floats) -> Floats:
    """The medians of sorted rows (NumPy's own median is far slower on many short rows)."""
    count = ordered.shape[1]
    return np.asarray((ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2)


def _trimmed_mean(ordered: Floats) -> Floats:
    """The mean over the last axis without a quarter at each end."""
    count = ordered.shape[-1]
    cut = count // 4
    return np.asarray(ordered[..., cut : count - cut].mean(axis=-1))


def _percentiles(resampled: Floats) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return float(low), float(high)


def _median_of_medians(processes: _Frozen) -> float:
    return float(np.median([np.median(values) for values in processes]))


def _hashable(processes: Processes) -> _Frozen:
    return tuple(tuple(values) for values in processes)


def _freeze(processes: Processes) -> _Frozen:
    """The values in a canonical order: sorted repetitions in sorted processes."""
    frozen = tuple(sorted(tuple(sorted(map(float, values))) for values in processes))
    if not frozen or not all(frozen):
        raise ValueError("a figure needs at least one process, and at least one value in each")
    return frozen
