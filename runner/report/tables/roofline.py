"""How far each implementation is from its lower bound on the machine (Williams et al., 2009).

The lower bound of a call is the longer of two times. One is the time of its operations at the best rate of a plain
matrix product on this machine. The other is the time of its bytes at the rate of a plain copy of about that size.
An operation that moves data has the second alone.
Benchmarks of the same matrix measure both rates, on the same machine, under the same limits, in any profile. A
training's lower bound is that of its updates, and of its environment steps where the implementation cannot choose the
environment.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.matrix import EnvironmentSteps, LeastWork, Matrix, Roofline
from runner.records.record import Record
from runner.report.tables import units
from runner.report.tables.markdown import Table
from runner.report.tables.same_machine import figures_here
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

EMPTY = Table(headers=(), rows=())


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates of this machine: the best operations a second, and bytes a second by copying case."""

    operations: float | None
    bytes: dict[str, float]


def roofline_table(matrix: Matrix, records: Sequence[Record], room: Room) -> Table:
    """One row for every implementation that passed, by case; empty where a bound is unknown.

    Args:
        matrix: names the benchmarks that measure the rates.
        records: the store's.
        room: the operation's on one platform.
    """
    roofline = room.benchmark.roofline
    if roofline is None or not room.ranked:
        return EMPTY
    cases = {case: case for case in roofline.cases}
    found = tuple(_row(*each) for each in _held(matrix, records, room, roofline, cases))
    counts = ("bytes",) if roofline.operations is None else ("operations", "bytes")
    headers = (
        "case",
        "implementation",
        *counts,
        "least time here",
        "time",
        "of the limit",
        f"{counts[0]} a second",
    )
    return Table(headers=headers, rows=found, right=frozenset(headers[2:]))


def training_limit_table(matrix: Matrix, records: Sequence[Record], room: Room) -> Table:
    """One row for every implementation of a training that passed; empty where a bound is unknown.

    Args:
        matrix: names the operation that is an update, and the benchmarks that measure the rates.
        records: the store's.
        room: the training's on one platform.
    """
    updates = room.benchmark.updates
    roofline = None if updates is None else matrix.benchmarks[updates.benchmark].roofline
    if updates is None or roofline is None or not room.ranked:
        return EMPTY
    steps = updates.environment
    found = []
    for row, _, least, seconds in _held(matrix, records, room, roofline, updates.cases):
        counts = row.passed[0].counts
        count = counts.get(updates.count, 0)
        environment, told = 0.0, NOTHING
        if steps is not None and row.implementation.name in steps.implementations:
            step = _least_step(matrix, records, room, steps, steps.implementations[row.implementation.name])
            stepped = counts.get(steps.count)
            if step is None or stepped is None:
                told = "not measured" if step is None else "not counted"
            else:
                environment = stepped * step
                told = units.seconds(environment)
        limit = count * least[0] + environment
        found.append(
            (
                row.case.name,
                row.implementation.name,
                units.count(count) if count else f"{NOTHING} (not counted)",
                f"{units.seconds(least[0])} ({least[1]})",
                units.seconds(count * least[0]) if count else NOTHING,
                *(() if steps is None else (told,)),
                units.seconds(seconds),
                f"{units.significant(seconds / limit)}x" if count and seconds > 0 else NOTHING,
            )
        )
    headers = (
        "case",
        "implementation",
        "updates",
        "least time of one here",
        "of all",
        *(() if steps is None else ("environment",)),
        "training",
        "the limit is faster by",
    )
    return Table(headers=headers, rows=tuple(found), right=frozenset(headers[2:]))


def _least_step(
    matrix: Matrix, records: Sequence[Record], room: Room, steps: EnvironmentSteps, implementation: str
) -> float | None:
    """The shortest time of one step by ``implementation`` on the room's machine; None where it was not measured."""
    found = [
        figure.value
        for row, figure in figures_here(matrix, records, room, steps.benchmark)
        if (row.case.name, row.implementation.name) == (steps.case, implementation)
    ]
    return min(found, default=None)


def _held(
    matrix: Matrix, records: Sequence[Record], room: Room, roofline: Roofline, cases: Mapping[str, str]
) -> Iterator[tuple[Row, LeastWork, tuple[float, str], float]]:
    """Every row with the reference's work: its case's least work, lower bound and own seconds.

    ``cases`` are the roofline's by the room's.
    """
    rates = _rates(matrix, records, room, roofline)
    for row in room.rows:
        case, figure = cases.get(row.case.name), row.figure(room.benchmark.headline)
        if case is None or figure is None or not row.same_work:
            continue
        work = roofline.cases[case]
        least = _least_seconds(work, rates)
        if least is not None:
            yield row, work, least, figure.value


def _row(row: Row, work: LeastWork, least: tuple[float, str], seconds: float) -> tuple[str, ...]:
    counted = work.bytes if work.operations is None else work.operations
    return (
        row.case.name,
        row.implementation.name,
        *(() if work.operations is None else (units.count(work.operations),)),
        units.count(work.bytes),
        units.seconds(least[0]) if work.operations is None else f"{units.seconds(least[0])} ({least[1]})",
        units.seconds(seconds),
        *(
            (
                f"{units.significant(100 * least[0] / seconds, 2)} %",
                f"{units.significant(counted / seconds / 1e9)} G",
            )
            if seconds > 0
            else (f"{NOTHING} (a time of zero)", NOTHING)
        ),
    )


def _least_seconds(work: LeastWork, rates: Rates) -> tuple[float, str] | None:
    """The longer of both times, and its name; None where a rate was not measured."""
    copied = rates.bytes.get(work.copied)
    if copied is None:
        return None
    moved = (work.bytes / copied, "bytes")
    if work.operations is None:
        return moved
    return (
        None if rates.operations is None else max((work.operations / rates.operations, "operations"), moved)
    )


def _rates(matrix: Matrix, records: Sequence[Record], room: Room, roofline: Roofline) -> Rates:
    def by_case(benchmark: str, unit: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for row, figure in figures_here(matrix, records, room, benchmark):
            rate = row.passed[0].counts.get(unit, 0) / figure.value
            # A rate of zero or infinity is not a rate.
            if 0 < rate < math.inf:
                found[row.case.name] = max(found.get(row.case.name, 0.0), rate)
        return found

    operations = {} if roofline.operations is None else by_case(roofline.operations, "operations")
    return Rates(operations=max(operations.values(), default=None), bytes=by_case(roofline.bytes, "bytes"))
