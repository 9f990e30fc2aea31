"""A declared table, filled from the rooms of one place."""

from collections.abc import Callable, Iterator, Sequence

from runner.report.tables import texts
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room
from runner.report.tables.summary import cells
from runner.report.tables.summary.declared import Column, Declared, Line
from runner.report.tables.summary.places import Rooms
from runner.report.tables.units import NOTHING


def ratios(rooms: Rooms, declared: Declared) -> Table:
    """How many times faster ours is than each column."""
    headers = ("operation", "ours", *(f"times faster than {each.heading}" for each in declared.columns))
    return _table(rooms, declared, headers, _ratios)


def times(rooms: Rooms, declared: Declared) -> Table:
    """The time of ours and of each column, and ours against the fastest competitor."""
    headings = (each.heading for each in declared.columns)
    headers = ("operation", "ours", *headings, "ours: times faster than the fastest competitor")
    return _table(rooms, declared, headers, _times)


def is_shown(room: Room, declared: Declared) -> bool:
    """Whether a table has a row of this room."""
    return bool(_shown({room.benchmark.name: room}, declared.lines))


def _shown(rooms: Rooms, lines: Sequence[Line]) -> list[tuple[Line, Room]]:
    """The rows with records."""
    found = [(line, rooms[line.benchmark]) for line in lines if line.benchmark in rooms]
    return [(line, room) for line, room in found if any(row.shown for row in room.of_case(line.case))]


def _table(
    rooms: Rooms,
    declared: Declared,
    headers: tuple[str, ...],
    cells_of: Callable[[Room, str, Sequence[Column]], Iterator[str]],
) -> Table:
    shown = _shown(rooms, declared.lines)
    return Table(
        headers=headers,
        rows=tuple((line.label, *cells_of(room, line.case, declared.columns)) for line, room in shown),
        pages=tuple(line.benchmark for line, _ in shown),
    )


def _ratios(room: Room, case: str, columns: Sequence[Column]) -> Iterator[str]:
    mine = cells.ours(room, case)
    yield cells.time(room, mine)
    for each in columns:
        yield cells.ratio(room, mine, cells.fastest(room, case, each.implementations))


def _times(room: Room, case: str, columns: Sequence[Column]) -> Iterator[str]:
    mine = cells.ours(room, case)
    yield cells.time(room, mine)
    for each in columns:
        yield cells.time(room, cells.fastest(room, case, each.implementations))
    yield NOTHING if mine is None else texts.against_competitor(room, mine)
