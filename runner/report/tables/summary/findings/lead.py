"""How many times faster one row is than another, where five processes of both sides say it."""

from collections.abc import Iterable
from dataclasses import dataclass

from runner.figures.statistics import Interval
from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.selection import Room, Row
from runner.report.tables.summary.declared import Column, Line
from runner.report.tables.summary.findings.finding import Outcome, faster
from runner.report.tables.summary.places import Rooms


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The lead of ``row`` over ``base`` in a benchmark. ``low`` and ``high`` bound its 95 % interval."""

    benchmark: str
    row: Row
    base: Row
    ratio: Interval
    low: float
    high: float

    @property
    def faster(self) -> Outcome:
        """Whether it is a lead at all."""
        return faster(self.ratio)

    def wider_than(self, other: "Lead") -> Outcome:
        """Whether it is the wider one of two leads."""
        if self.low > other.high:
            return Outcome.HOLDS
        return Outcome.FAILS if self.high < other.low else Outcome.OPEN

    def __str__(self) -> str:
        names = f"{self.row.implementation.name} against {self.base.implementation.name}"
        return f"{self.benchmark} {self.row.case.name}, {names}: {units.ratio(self.ratio)}"


def lead_of(room: Room, row: Row | None, base: Row | None) -> Lead | None:
    """The lead of a row over another; None where they have no ranked ratio."""
    if row is None or base is None:
        return None
    ratio = room.ratio(base, row)
    if ratio is None or not ratio.ranked or ratio.low is None or ratio.high is None:
        return None
    name = room.benchmark.name
    return Lead(benchmark=name, row=row, base=base, ratio=ratio, low=ratio.low, high=ratio.high)


def ours_over(rooms: Rooms, benchmark: str, case: str, base: Column) -> Lead | None:
    """The lead of ours over a column, at the same work."""
    room = rooms.get(benchmark)
    if room is None:
        return None
    return lead_of(room, room.fastest(case, [Side.OURS]), room.fastest_of(case, base.implementations))


def ours_at(rooms: Rooms, line: Line, base: Column) -> Lead | None:
    """The same in a row of a table."""
    return ours_over(rooms, line.benchmark, line.case, base)


def column_over(rooms: Rooms, benchmark: str, case: str, column: Column, base: Column) -> Lead | None:
    """The lead of one column over another, at the same work."""
    room = rooms.get(benchmark)
    if room is None:
        return None
    return lead_of(
        room, room.fastest_of(case, column.implementations), room.fastest_of(case, base.implementations)
    )


def present(leads: Iterable[Lead | None]) -> list[Lead]:
    """Those that were measured."""
    return [lead for lead in leads if lead is not None]


def widest(leads: Iterable[Lead]) -> Lead:
    """The one with the largest ratio."""
    return max(leads, key=lambda lead: lead.ratio.value)
