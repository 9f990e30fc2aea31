"""Whether ours has the shorter tail at drawing a minibatch: the 99th percentile of single calls."""

import numpy as np

from runner.figures.comparison import improvement
from runner.figures.statistics import Interval
from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.selection import Room, Row
from runner.report.tables.summary.declared import SAMPLE, SB3, TORCHRL
from runner.report.tables.summary.findings.finding import Finding, faster, together, unmeasured
from runner.report.tables.summary.findings.lead import lead_of
from runner.report.tables.summary.places import Rooms

CLAIM = "Ours has the shorter tail (p99) at drawing a minibatch"
# With fewer calls a process has less than ten beyond its 99th percentile.
_LEAST_CALLS = 1000
_MEDIAN, _TAIL = 0.5, 0.99


def tails(rooms: Rooms) -> Finding:
    """The 99th percentile of ours beside that of each library.

    Each process has a percentile of its own, so that processes give the interval, as everywhere.
    """
    room, case = rooms.get(SAMPLE.benchmark), SAMPLE.case
    if room is None or case not in room.parameters:
        return unmeasured(CLAIM, f"it needs {SAMPLE.benchmark} {case}")
    calls = room.parameters[case].get("calls", 1)
    if calls != 1:
        return unmeasured(
            CLAIM,
            f"a repetition of {SAMPLE.benchmark} {case} averages {calls} calls, and no record has a single one",
        )
    mine = room.fastest(case, [Side.OURS])
    bases = [room.fastest_of(case, each.implementations) for each in (TORCHRL, SB3)]
    ratios = [ratio for base in bases if (ratio := _ratio(room, mine, base)) is not None]
    if not ratios:
        return unmeasured(CLAIM, f"it needs {_LEAST_CALLS:,} calls a process of ours and of torchrl or sb3")
    rows = [row for row in (mine, *bases) if row is not None and _has_tail(room, row)]
    return Finding(
        claim=CLAIM,
        outcome=together(map(faster, ratios)),
        figures=tuple(_percentiles(room, row) for row in rows),
    )


def _ratio(room: Room, mine: Row | None, base: Row | None) -> Interval | None:
    """How many times shorter the tail of ours is; None where their times may not be compared."""
    if mine is None or base is None or lead_of(room, mine, base) is None:
        return None
    if not (_has_tail(room, mine) and _has_tail(room, base)):
        return None
    metric = room.benchmark.headline
    return improvement(
        [(each,) for each in _percentile(room, base, _TAIL)],
        [(each,) for each in _percentile(room, mine, _TAIL)],
        metric,
    )


def _has_tail(room: Room, row: Row) -> bool:
    return all(len(values) >= _LEAST_CALLS for values in row.processes(room.benchmark.headline))


def _percentile(room: Room, row: Row, share: float) -> list[float]:
    """Of each process."""
    return [float(np.quantile(values, share)) for values in row.processes(room.benchmark.headline)]


def _percentiles(room: Room, row: Row) -> str:
    metric = room.benchmark.headline
    median, tail = (float(np.median(_percentile(room, row, share))) for share in (_MEDIAN, _TAIL))
    return (
        f"{row.implementation.name}: p50 {units.figure_value(median, metric)}, "
        f"p99 {units.figure_value(tail, metric)}"
    )
