"""Whether the lead at pushing transitions narrows as observations grow."""

from runner.report.tables.summary.declared import PUSH_LARGE, PUSH_SMALL, SB3, TORCHRL
from runner.report.tables.summary.findings.finding import Finding
from runner.report.tables.summary.findings.lead import ours_at
from runner.report.tables.summary.findings.narrowing import narrowing
from runner.report.tables.summary.places import Rooms

CLAIM = "The lead at pushing transitions narrows as observations grow"


def pushes(rooms: Rooms) -> Finding:
    """The lead over each library at the smallest observation, beside that at the largest."""
    return narrowing(
        CLAIM,
        [(ours_at(rooms, PUSH_SMALL, base), ours_at(rooms, PUSH_LARGE, base)) for base in (TORCHRL, SB3)],
        lacking="it needs ranked ratios of both cases of buffer-push against torchrl or sb3",
    )
