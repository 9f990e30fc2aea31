"""The text of a cell: a time, a ratio, or why there is none, as the benchmark's own page says it."""

from collections.abc import Collection, Iterable

from runner.matrix import Side
from runner.report.tables import texts
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

NO_RATIO = "no ratio"


def ours(room: Room, case: str) -> Row | None:
    """Our fastest row; where none has a time, the row that says most about why. None where the matrix has none."""
    return room.fastest(case, [Side.OURS]) or _telling(
        row for row in room.of_case(case) if row.side is Side.OURS
    )


def fastest(room: Room, case: str, names: Collection[str]) -> Row | None:
    """The same of some implementations."""
    return room.fastest_of(case, names) or _telling(
        row for row in room.of_case(case) if row.implementation.name in names
    )


def time(room: Room, row: Row | None) -> str:
    """``4.13 µs (4.10 to 4.20): torchforge``."""
    if row is None:
        return NOTHING
    return _instead(room, row) or f"{texts.figure(row, room.benchmark.headline)}: {row.implementation.name}"


def ratio(room: Room, mine: Row | None, base: Row | None) -> str:
    """``35.7x (34.7 to 36.1) faster: numpy-tuned``."""
    if base is None:
        return NOTHING
    if instead := _instead(room, base):
        return instead
    if mine is None or not mine.passed:
        return NOTHING
    found = texts.against(room, base, mine)
    return NO_RATIO if found == NOTHING else found


def _instead(room: Room, row: Row) -> str | None:
    """The text of a row whose time may not be compared; None where it may."""
    if row.passed and not row.same_work:
        return f"other work: {texts.timed(room, row)}"
    return texts.state(row)


def _telling(rows: Iterable[Row]) -> Row | None:
    """A time of other work comes before a failure, and a failure before a row that was not run."""
    return min(rows, key=lambda row: (not row.passed, not row.failed, row.left_out is not None), default=None)
