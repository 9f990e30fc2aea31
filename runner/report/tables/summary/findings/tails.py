"""Whether ours has the shorter tail at drawing a minibatch: the 99th percentile of draws that were timed one by one."""

from runner.figures.comparison import improvement
from runner.figures.statistics import Interval
from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.selection import Room, Row
from runner.report.tables.summary.declared import DRAWS, SB3, TORCHRL
from runner.report.tables.summary.findings.finding import Finding, faster, together, unmeasured
from runner.report.tables.summary.findings.lead import lead_of
from runner.report.tables.summary.places import Rooms

CLAIM = "Ours has the shorter tail (p99) at drawing a minibatch"
# A launch says them of all draws of its round.
_MEDIAN, _TAIL = "batch_p50_seconds", "batch_p99_seconds"


def tails(rooms: Rooms) -> Finding:
    """The 99th percentile of ours beside that of each library.

    Each process has a percentile of its own, so that processes give the interval, as everywhere.
    """
    room, case = rooms.get(DRAWS.benchmark), DRAWS.case
    if room is None or case not in room.parameters:
        return unmeasured(CLAIM, f"it needs {DRAWS.benchmark} {case}")
    mine = room.fastest(case, [Side.OURS])
    bases = [room.fastest_of(case, each.implementations) for each in (TORCHRL, SB3)]
    ratios = [ratio for base in bases if (ratio := _ratio(room, mine, base)) is not None]
    if not ratios:
        return unmeasured(CLAIM, f"it needs {DRAWS.benchmark} {case} of ours and of torchrl or sb3")
    return Finding(
        claim=CLAIM,
        outcome=together(map(faster, ratios)),
        figures=tuple(
            _percentiles(row) for row in (mine, *bases) if row is not None and row.processes(_TAIL)
        ),
    )


def _ratio(room: Room, mine: Row | None, base: Row | None) -> Interval | None:
    """How many times shorter the tail of ours is; None where their times may not be compared."""
    if mine is None or base is None or lead_of(room, mine, base) is None:
        return None
    if not (mine.processes(_TAIL) and base.processes(_TAIL)):
        return None
    return improvement(base.processes(_TAIL), mine.processes(_TAIL), _TAIL)


def _percentiles(row: Row) -> str:
    told = {name: row.figure(metric) for name, metric in (("p50", _MEDIAN), ("p99", _TAIL))}
    shown = (f"{name} {units.seconds(figure.value)}" for name, figure in told.items() if figure is not None)
    return f"{row.implementation.name}: {', '.join(shown)}"
