"""Where benchmarks were run: the rooms of one platform under one toolchain, beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.matrix import Matrix
from runner.report.tables import texts
from runner.report.tables.selection import Room

# By the benchmark's name.
Rooms = Mapping[str, Room]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One platform under one toolchain.

    Attributes:
        heading: its name on every page.
        rooms: of each benchmark that was run there, under its first limits.
    """

    heading: str
    rooms: Rooms


def places(matrix: Matrix, benchmark_rooms: Iterable[Sequence[Room]]) -> tuple[Place, ...]:
    """Every place where something was run, in the order of the rooms."""
    found: dict[str, dict[str, Room]] = {}
    for rooms in benchmark_rooms:
        for room in rooms:
            if room.ordinary and room.records:
                found.setdefault(texts.column(matrix, room), {})[room.benchmark.name] = room
    return tuple(Place(heading=heading, rooms=here) for heading, here in found.items())
