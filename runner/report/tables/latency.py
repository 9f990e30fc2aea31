"""How long single batches take: percentiles of all batches that a launch timed one by one."""

from collections.abc import Mapping

from runner.report.tables import texts
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row

# What a launch says of its batches, beside the time of a call. Minibatches out of a ring have no first one.
_FIRST = {"first batch": "first_batch_seconds"}
_FIGURES = {
    "p50": "batch_p50_seconds",
    "p99": "batch_p99_seconds",
    "p99.9": "batch_p999_seconds",
    "slowest": "batch_max_seconds",
}


def latency_table(room: Room) -> Table:
    """The latencies of each row whose records have some; no rows where none has."""
    firsts = any(_some(row, _FIRST) for row in room.rows)
    figures = {**_FIRST, **_FIGURES} if firsts else _FIGURES
    return Table(
        headers=("case", "implementation", *figures, "n"),
        rows=tuple(
            (
                row.case.name,
                row.implementation.name,
                *(texts.figure(row, metric) for metric in figures.values()),
                str(len(row.passed)),
            )
            for row in room.rows
            if _some(row, figures)
        ),
        right=frozenset({"n"}),
    )


def _some(row: Row, figures: Mapping[str, str]) -> bool:
    """Whether the row's records have one of these figures."""
    return any(row.figure(metric) is not None for metric in figures.values())
