"""How wide an interval is, and how many processes would make it narrow enough.

The width of an interval of medians falls with the square root of the number of processes. So four times as many
processes halve it. The answer is an estimate: the interval of five processes is itself uncertain.
"""

import math

from runner.figures.statistics import Interval


def precision(interval: Interval) -> float | None:
    """Half the width of the interval as a share of the value: 0.02 is 2 %. None where there is no interval.

    It is half the logarithm of high over low, so that a ratio and its reciprocal are equally precise.
    """
    if interval.low is None or interval.high is None or interval.low <= 0:
        return None
    return math.log(interval.high / interval.low) / 2


def enough(interval: Interval, target: float) -> int | None:
    """How many processes would make the interval as precise as ``target``; None where there is no interval.

    Args:
        interval: of a figure or of a ratio.
        target: a share above zero.
    """
    now = precision(interval)
    return None if now is None else max(interval.n, math.ceil(interval.n * (now / target) ** 2))


def enough_to_decide(ratio: Interval) -> int | None:
    """How many processes a side would exclude 1 from the interval of a ratio, if the ratio stays what it is.

    None where the ratio is 1: no number would be enough.
    """
    if ratio.low is None or ratio.high is None or ratio.value <= 0 or ratio.value == 1:
        return None
    # The bound on the side of 1 has to come nearer than the distance from the value to 1.
    bound = ratio.low if ratio.value > 1 else ratio.high
    if bound <= 0:
        return None
    wide, distance = abs(math.log(ratio.value / bound)), abs(math.log(ratio.value))
    return max(ratio.n, math.ceil(ratio.n * (wide / distance) ** 2))
