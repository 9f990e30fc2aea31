"""The first table of a page: every implementation's headline, its ratios, and its gate's result."""

from collections.abc import Sequence

from runner.matrix import Kind, Side
from runner.report.tables import texts
from runner.report.tables.agreement import agreement
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room


def headline_table(room: Room, all_rooms: Sequence[Room], *, column: str, right: bool = False) -> Table:
    """One row for each case and implementation that was run. A failed cell has a row too.

    Args:
        room: the room of the rows.
        all_rooms: the benchmark's rooms on all platforms, to say whether they agree.
        column: the name of the headline.
        right: whether its figures are aligned to the right.
    """
    metric, training = room.benchmark.headline, room.benchmark.kind is Kind.TRAINING
    reference, hidden = room.benchmark.reference.name, _hides_a_variant(room)
    return Table(
        headers=(
            "case",
            "implementation",
            column,
            *(("from start to result",) if training else ()),
            "n",
            f"times faster than {reference}",
            *((f"times faster than the fastest variant of {reference}",) if hidden else ()),
            "times faster than the fastest competitor",
            "gate",
            "platforms agree",
        ),
        rows=tuple(
            (
                row.case.name,
                row.implementation.name,
                texts.figure(row, metric),
                *((texts.waited(row),) if training else ()),
                texts.processes(row, metric),
                texts.against_reference(room, row),
                *((texts.against_variant(room, row),) if hidden else ()),
                texts.against_competitor(room, row),
                texts.gate(row),
                agreement(room, row, all_rooms),
            )
            for row in room.rows
            if row.shown
        ),
        right=frozenset({column}) if right else frozenset(),
    )


def _hides_a_variant(room: Room) -> bool:
    """Whether the fastest variant of the reference is in no other column, because a library is faster."""
    for case in room.benchmark.cases:
        variant = room.fastest(case, [Side.REFERENCE])
        if variant is None or variant.implementation.reference:
            continue
        fastest = room.fastest(case, [Side.REFERENCE, Side.PEER])
        if fastest is not None and fastest.side is Side.PEER:
            return True
    return False
