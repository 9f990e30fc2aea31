"""Which library should compute the networks: the time of an update, the program's size, and correct gradients."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.figures.statistics import Verdict, verdict
from runner.matrix import Side
from runner.report.tables import texts, units
from runner.report.tables.markdown import Table
from runner.report.tables.parity import parity_table
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

# The facts that an implementation prints about itself, beside its time.
_COSTS = {"compiling": "compile_seconds", "program": "program_bytes"}


@dataclass(frozen=True, kw_only=True)
class Backends:
    """The page's part."""

    costs: Table
    parity: Table | None
    decided: tuple[str, ...]
    undecided: tuple[str, ...]


def backends(room: Room) -> Backends:
    """The facts in the room's records about its backends, and the missing facts."""
    decided: list[str] = []
    undecided: list[str] = []
    for case in room.parameters:
        ours = room.fastest(case, [Side.OURS, Side.KERNEL])
        others = [row for row in room.of_case(case) if row.side is Side.PEER and row.same_work]
        if ours is None or not others:
            undecided.append(f"{case}: this profile lacks our time, or another backend")
            continue
        said, open_ = _compared(room, ours, others)
        decided += said
        undecided += open_
    return Backends(
        costs=_costs(room), parity=parity_table(room), decided=tuple(decided), undecided=tuple(undecided)
    )


def _compared(room: Room, ours: Row, others: Sequence[Row]) -> tuple[list[str], list[str]]:
    said, open_ = [], []
    verdicts = []
    for row in others:
        name = row.implementation.name
        ratio = room.ratio(row, ours)
        if ratio is None or not ratio.ranked:
            open_.append(f"{row.case.name}, {name}: {_why(room, row)}")
            continue
        verdicts.append(verdict(ratio))
        said.append(f"{row.case.name}: {ours.implementation.name} against {name}: {units.ratio(ratio)}.")
        open_ += [
            f"{row.case.name}, {name}: {what} is not in its records"
            for what, metric in _COSTS.items()
            if row.figure(metric) is None
        ]
    if verdicts:
        said.append(_decision(ours.implementation.name, verdicts, open_=len(verdicts) < len(others)))
    return said, open_


def _decision(ours: str, verdicts: Sequence[Verdict], *, open_: bool) -> str:
    if Verdict.SLOWER in verdicts:
        return f"Another backend is faster than {ours}: it is worth a seat behind the seam for that alone."
    if set(verdicts) == {Verdict.FASTER}:
        rest = " that has figures" if open_ else ""
        return f"{ours} stays: no library{rest} is as fast, and each costs what the table says on top."
    return f"None is shown to be faster than {ours}, nor {ours} than all: the costs in the table decide."


def _why(room: Room, row: Row) -> str:
    if (state := texts.state(row)) is not None:
        return state
    return "fewer than five processes" if room.ranked else "these times are not compared"


def _costs(room: Room) -> Table:
    metric = room.benchmark.headline
    return Table(
        headers=("case", "implementation", "an update", *_COSTS),
        rows=tuple(
            (
                row.case.name,
                row.implementation.name,
                texts.figure(row, metric),
                *(_cost(row, each) for each in _COSTS.values()),
            )
            for row in room.rows
        ),
    )


def _cost(row: Row, metric: str) -> str:
    """The figure without an interval, because it is the image's and the same in every process."""
    found = row.figure(metric)
    return NOTHING if found is None else units.figure_value(found.value, metric)
