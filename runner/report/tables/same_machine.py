"""Figures of other benchmarks on a room's machine, which explain the room's own."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from runner.figures.comparison import machine_of
from runner.figures.statistics import Interval
from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.selection import Room, Row, rooms

# Seconds of one update by the training's case and the implementation.
Updates = Mapping[tuple[str, str], float]


def updates_here(matrix: Matrix, records: Sequence[Record], found: Sequence[Room]) -> Updates:
    """The shortest time of one update of a training, measured alone on the machine of its first ranked room.

    Args:
        matrix: names the benchmark of the updates.
        records: the store's.
        found: the training's rooms.
    """
    room = next((each for each in found if each.ranked), None)
    updates = room.benchmark.updates if room else None
    if room is None or updates is None:
        return {}
    shortest: dict[tuple[str, str], float] = {}
    for row, figure in figures_here(matrix, records, room, updates.benchmark):
        for case, one in updates.cases.items():
            if one == row.case.name:
                name = (case, row.implementation.name)
                shortest[name] = min(figure.value, shortest.get(name, figure.value))
    return shortest


def figures_here(
    matrix: Matrix, records: Sequence[Record], room: Room, benchmark: str
) -> Iterator[tuple[Row, Interval]]:
    """Each row of a benchmark that was measured on the room's machine under its limits, in any profile."""
    machine = machine_of(room.records[-1])
    every = (rooms(matrix, records, benchmark, profile=profile) for profile in matrix.profiles)
    for other in itertools.chain.from_iterable(every):
        here = (other.platform, other.toolchain, other.limits) == (room.platform, room.toolchain, room.limits)
        if not (here and other.ranked and machine_of(other.records[-1]) == machine):
            continue
        for row in other.rows:
            figure = row.figure(other.benchmark.headline)
            if figure is not None and figure.value > 0:
                yield row, figure
