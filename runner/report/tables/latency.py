"""How long single batches take: percentiles of all batches that a launch timed one by one."""

from runner.report.tables import texts
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room

# What a launch says of its batches, beside the time of a call.
_FIGURES = {
    "first batch": "first_batch_seconds",
    "p50": "batch_p50_seconds",
    "p99": "batch_p99_seconds",
    "p99.9": "batch_p999_seconds",
    "slowest": "batch_max_seconds",
}


def latency_table(room: Room) -> Table:
    """The latencies of each row whose records have some; no rows where none has."""
    return Table(
        headers=("case", "implementation", *_FIGURES, "n"),
        rows=tuple(
            (
                row.case.name,
                row.implementation.name,
                *(texts.figure(row, metric) for metric in _FIGURES.values()),
                str(len(row.passed)),
            )
            for row in room.rows
            if any(row.figure(metric) is not None for metric in _FIGURES.values())
        ),
        right=frozenset({"n"}),
    )
