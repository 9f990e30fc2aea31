"""Whether the lead over NumPy narrows as arrays grow: the smaller an array, the more of a call is its cost."""

from runner.report.tables.summary.declared import NUMPY
from runner.report.tables.summary.findings.finding import Finding
from runner.report.tables.summary.findings.lead import ours_over
from runner.report.tables.summary.findings.narrowing import narrowing
from runner.report.tables.summary.places import Rooms

CLAIM = "The lead over NumPy narrows as arrays grow"
_SIZES = (("grpo", "16x4", "1024x32"), ("token-kl", "T=128", "T=8192"))


def small_arrays(rooms: Rooms) -> Finding:
    """The lead at the smallest arrays of two operations, beside that at the largest."""
    return narrowing(
        CLAIM,
        [
            (ours_over(rooms, name, small, NUMPY), ours_over(rooms, name, large, NUMPY))
            for name, small, large in _SIZES
        ],
        lacking="it needs ranked ratios of the smallest and the largest case of grpo or token-kl against NumPy",
    )
