"""The view of an operation's page."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.matrix import Benchmark, Matrix
from runner.tables import texts
from runner.tables.agreement import agreement
from runner.tables.markdown import Table
from runner.tables.memory import memory_table
from runner.tables.selection import Room


@dataclass(frozen=True, kw_only=True)
class OperationRoom:
    """One platform's part of the page."""

    heading: str
    execution: str
    run: bool
    ranked: bool
    times: Table
    memory: Table


@dataclass(frozen=True, kw_only=True)
class OperationView:
    """The whole page."""

    name: str
    title: str
    profile: str
    reference: str
    rooms: tuple[OperationRoom, ...]


def operation_view(
    matrix: Matrix, benchmark: Benchmark, found: Sequence[Room], *, profile: str
) -> OperationView:
    """The page of ``benchmark`` with the rooms ``found``."""
    return OperationView(
        name=benchmark.name,
        title=benchmark.title,
        profile=profile,
        reference=benchmark.reference.name,
        rooms=tuple(_room(matrix, room, found) for room in found),
    )


def _room(matrix: Matrix, room: Room, all_rooms: Sequence[Room]) -> OperationRoom:
    metric = room.benchmark.headline
    return OperationRoom(
        heading=texts.heading(matrix, room),
        execution=texts.execution(room),
        run=bool(room.records),
        ranked=room.ranked,
        times=Table(
            headers=(
                "case",
                "implementation",
                "time a call",
                "n",
                f"times faster than {room.benchmark.reference.name}",
                "times faster than the fastest competitor",
                "gate",
                "platforms agree",
            ),
            rows=tuple(
                (
                    row.case.name,
                    row.implementation.name,
                    texts.figure(row, metric),
                    texts.processes(row, metric),
                    texts.against_reference(room, row),
                    texts.against_competitor(room, row),
                    texts.gate(row),
                    agreement(room, row, all_rooms),
                )
                for row in room.rows
            ),
            right=frozenset({"time a call"}),
        ),
        memory=memory_table(room),
    )
