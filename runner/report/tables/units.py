"""Figures as text: three significant digits in a sensible unit."""

import math
from collections.abc import Sequence

from runner.figures.precision import enough_to_decide
from runner.figures.statistics import Interval, Spread, Verdict, verdict

NOTHING = "—"
UNKNOWN = "unknown"
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
# The powers of ten between which a number is written out; beyond them it would be mostly zeros.
_LEAST_POWER, _MOST_POWER = -9, 15
# Nobody starts more processes for one row.
_MOST_PROCESSES = 1000
_WRITTEN_OUT = 10.0**_MOST_POWER


def significant(value: float, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits, thousands separated; with an exponent where it is extreme."""
    if value == 0 or not math.isfinite(value):
        # A quotient of two values of unknown origin may overflow a float.
        return "0" if value == 0 else f"{value:g}"
    # Rounding may carry into the next power of ten (9.996 to 10.0), so the rounded text gives the exponent.
    rounded = f"{value:.{digits - 1}e}"
    power = int(rounded.partition("e")[2])
    if not _LEAST_POWER <= power < _MOST_POWER:
        return rounded
    return f"{float(rounded):,.{max(digits - 1 - power, 0)}f}"


def seconds(value: float) -> str:
    """A duration: ``4.71 µs``."""
    scale, unit = _unit_of_seconds(value)
    return f"{significant(value / scale)} {unit}"


def figure(interval: Interval, metric: str) -> str:
    """A metric's figure with its interval in the same unit: ``4.71 µs (4.68 to 4.80)``.

    The unit is the one that the metric's name ends in.
    """
    if metric.endswith("seconds"):
        scale, unit = _unit_of_seconds(interval.value)
    elif metric.endswith("bytes"):
        scale, unit = _unit_of_bytes(interval.value)
    else:
        return f"{significant(interval.value)}{bounds(interval)}"
    return f"{significant(interval.value / scale)} {unit}{bounds(interval, scale)}"


def figure_value(value: float, metric: str) -> str:
    """A metric's figure alone: ``4.71 µs``."""
    return figure(Interval(value=value, low=None, high=None, n=1), metric)


def bounds(interval: Interval, scale: float = 1.0) -> str:
    """The bounds in parentheses with a space before, or nothing where there is no interval."""
    if interval.low is None or interval.high is None:
        return ""
    return f" ({significant(interval.low / scale)} to {significant(interval.high / scale)})"


def size(value: float) -> str:
    """A number of bytes: ``297 MiB``."""
    scale, unit = _unit_of_bytes(value)
    # Bytes are counted, not measured, so all their digits are known.
    return f"{count(value) if scale == 1 else significant(value / scale)} {unit}"


def count(value: float) -> str:
    """A whole number: ``48,999``."""
    return f"{value:z,.0f}" if abs(value) < _WRITTEN_OUT else significant(value)


def plain(value: float) -> str:
    """A return: two decimals, and no sign where those are zeros."""
    return f"{value:z.2f}" if abs(value) < _WRITTEN_OUT else significant(value)


def signed(value: float) -> str:
    """A difference of returns: two decimals, its sign before it."""
    return f"{value:+z.2f}" if abs(value) < _WRITTEN_OUT else f"{value:+.2e}"


def plain_interval(interval: Interval) -> str:
    """A return with its interval: ``488.69 (470.10 to 495.00)``."""
    if interval.low is None or interval.high is None:
        return plain(interval.value)
    return f"{plain(interval.value)} ({plain(interval.low)} to {plain(interval.high)})"


def mean_and_deviation(spread: Spread) -> str:
    """``488.69 ± 16.11``; without the second part for a single value."""
    return plain(spread.mean) + ("" if spread.deviation is None else f" ± {plain(spread.deviation)}")


def times(interval: Interval) -> str:
    """How many times faster: ``12.3x (11.8 to 12.9)``."""
    return f"{significant(interval.value)}x{bounds(interval)}"


def ratio(interval: Interval) -> str:
    """How many times faster, with the verdict: ``12.3x (11.8 to 12.9) faster``."""
    said = verdict(interval)
    figure = times(interval)
    return f"{figure}, n<5: not ranked" if said is Verdict.NOT_RANKED else f"{figure} {said.value}"


def would_decide(interval: Interval) -> str:
    """How many processes would decide an inconclusive ratio."""
    needed = enough_to_decide(interval)
    if needed is None or needed > _MOST_PROCESSES:
        return f"more than {_MOST_PROCESSES:,} processes a side would be needed to decide it"
    return f"about {needed} processes a side would decide it"


def or_unknown(value: object) -> str:
    """A fact about a machine; ``unknown`` where it is null, never a guess."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _unit_of_seconds(value: float) -> tuple[float, str]:
    return _unit(value, _SECONDS)


def _unit_of_bytes(value: float) -> tuple[float, str]:
    return _unit(value, _BYTES)


def _unit(value: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest unit in which the rounded value is at least 1: 999.6 ns are 1.00 µs."""
    return next(((scale, unit) for scale, unit in units if abs(value) >= scale * 0.9995), units[-1])
