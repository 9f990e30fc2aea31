"""The view of an operation's page."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.matrix import Decision, Matrix
from runner.records.record import Record
from runner.report.tables import texts
from runner.report.tables.backends import Backends, backends
from runner.report.tables.crossing import Crossing, crossing
from runner.report.tables.failures import Failures, failures
from runner.report.tables.head import Head
from runner.report.tables.headline import headline_table
from runner.report.tables.latency import latency_table
from runner.report.tables.markdown import Table
from runner.report.tables.memory import memory_table
from runner.report.tables.roofline import roofline_table
from runner.report.tables.selection import Room
from runner.report.tables.toolchains import toolchains_table


@dataclass(frozen=True, kw_only=True)
class OperationRoom:
    """One platform's part of the page."""

    heading: str
    execution: str
    measured: str
    run: bool
    ranked: bool
    times: Table
    latency: Table
    other_work: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...]
    elsewhere: str
    failures: Failures
    memory: Table
    roofline: Table
    crossing: Crossing | None
    backends: Backends | None


@dataclass(frozen=True, kw_only=True)
class OperationView:
    """The whole page."""

    head: Head
    rooms: tuple[OperationRoom, ...]
    toolchains: Table


def operation_view(
    matrix: Matrix, records: Sequence[Record], found: Sequence[Room], *, head: Head
) -> OperationView:
    """The page of a benchmark with the rooms ``found``. ``records`` give the machine's best rates."""
    return OperationView(
        head=head,
        rooms=tuple(_room(matrix, room, found, roofline_table(matrix, records, room)) for room in found),
        toolchains=toolchains_table(matrix, found),
    )


def _room(matrix: Matrix, room: Room, all_rooms: Sequence[Room], roofline: Table) -> OperationRoom:
    return OperationRoom(
        heading=texts.heading(matrix, room),
        execution=texts.execution(room),
        measured=texts.measured(room),
        run=bool(room.records),
        ranked=room.ranked,
        times=headline_table(room, all_rooms, column="time a call", right=True),
        latency=latency_table(room),
        other_work=texts.other_work(room),
        absent=texts.absent(room),
        elsewhere=", ".join(room.elsewhere),
        failures=failures(room),
        memory=memory_table(room),
        roofline=roofline,
        crossing=crossing(room) if room.benchmark.decision is Decision.CROSSING else None,
        backends=backends(room) if room.benchmark.decision is Decision.BACKEND else None,
    )
