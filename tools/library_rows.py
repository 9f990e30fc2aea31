"""The rows of whole plans of libraries in docs/results.md: everybody that trained, the fastest first."""

import re

from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.selection import Room, Row
from tools.operation_rows import undecided

ROW = re.compile(
    r"\| (?P<link>\[every library at [A-Z]+\]\((?:\.\./)?(?P<folder>results/published/[^/]+)"
    r"/tables/(?P<profile>[a-z]+)/(?P<benchmark>[a-z-]+)\.md\))"
    r" \| (?P<machine>[^|]*?)(?:, loaded in \d+ of \d+ launches)? \|(?: [^|]* \|){3}"
)


def figures(room: Room) -> tuple[str, str, str]:
    """Of a row: ours, those that do the same work with how much faster ours is, and those that do other work.

    Raises:
        ValueError: ours has no time.
    """
    timed = sorted(timed_rows(room), key=lambda row: _seconds(room, row))
    ours = room.fastest(timed[0].case.name, [Side.OURS]) if timed else None
    if ours is None:
        raise ValueError(f"ours has no time at {room.benchmark.name}")
    others = [row for row in timed if row.side is not Side.OURS]
    return (
        "; ".join(_told(room, row) for row in timed if row.side is Side.OURS),
        "; ".join(f"{_told(room, row)}: {_ratio(room, row, ours)}" for row in others if row.same_work),
        "; ".join(_told(room, row) for row in others if not row.same_work) or "—",
    )


def timed_rows(room: Room) -> list[Row]:
    """The rows with a time of the first case that was run."""
    cases = [
        [row for row in room.of_case(case) if row.figure(room.benchmark.headline)]
        for case in room.benchmark.cases
    ]
    return next(filter(None, cases), [])


def _seconds(room: Room, row: Row) -> float:
    figure = row.figure(room.benchmark.headline)
    return float("inf") if figure is None else figure.value


def _told(room: Room, row: Row) -> str:
    return f"{row.implementation.name} {units.figure_value(_seconds(room, row), room.benchmark.headline)}"


def _ratio(room: Room, row: Row, ours: Row) -> str:
    found = room.ratio(row, ours)
    return "no ratio" if found is None else f"{units.times(found)}{undecided(found)}"
