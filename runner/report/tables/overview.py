"""The view of the overview: rows are cases, columns are platforms and toolchains, a cell is the headline."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.figures.comparison import natural_order
from runner.figures.statistics import LEAST_PROCESSES, Verdict, verdict
from runner.matrix import Matrix, Side
from runner.records.execution import ExecutionKind
from runner.report.tables import texts, units
from runner.report.tables.markdown import Table
from runner.report.tables.profiling.measured import is_profiled
from runner.report.tables.selection import Room, Row
from runner.report.tables.summary.view import is_summarised
from runner.report.tables.verdict import verdict_in_words


@dataclass(frozen=True, kw_only=True)
class OverviewView:
    """The page: its table and the counts under it."""

    profile: str
    verdict: str
    headlines: Table
    benchmarks: tuple[tuple[str, str], ...]
    passed: int
    failed: int
    not_run: int
    slower: tuple[str, ...]
    summarised: bool
    """Whether there is a summary of operations and networks."""
    profiled: bool
    """Whether a run was instrumented: then there is a profiling report."""


def overview_view(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], *, profile: str) -> OverviewView:
    """The page over the rooms of every benchmark."""
    columns = _columns(matrix, [room for rooms in benchmark_rooms for room in rooms])
    lines = [line for rooms in benchmark_rooms for line in _by_limits(rooms)]
    rows = [row for rooms in benchmark_rooms for room in rooms for row in room.rows]
    return OverviewView(
        profile=profile,
        verdict=verdict_in_words([room for rooms in benchmark_rooms for room in rooms]),
        headlines=Table(
            headers=("benchmark", "case", *columns),
            rows=tuple(
                (_name(line[0]), case, *(_of_column(matrix, line, column, case) for column in columns))
                for line in lines
                for case in _run_cases(line)
            ),
        ),
        benchmarks=tuple((rooms[0].benchmark.name, rooms[0].benchmark.title) for rooms in benchmark_rooms),
        passed=sum(len(row.passed) for row in rows),
        failed=sum(len(row.failed) for row in rows),
        not_run=sum(len(row.missing) for row in rows if row.left_out is None),
        slower=tuple(
            _named(matrix, room, row)
            for rooms in benchmark_rooms
            for room in rooms
            for row in room.rows
            if row.side in (Side.OURS, Side.KERNEL) and _slower(room, row)
        ),
        summarised=any(is_summarised(room) for rooms in benchmark_rooms for room in rooms),
        profiled=any(is_profiled(room) for rooms in benchmark_rooms for room in rooms),
    )


def _columns(matrix: Matrix, rooms: Sequence[Room]) -> list[str]:
    """The toolchains and platforms that ran something, in the order of the matrix; all where nothing was run."""
    names, platforms = list(matrix.toolchains), list(matrix.platforms)
    run = [room for room in rooms if room.records] or rooms
    run = sorted(
        run, key=lambda room: (names.index(room.toolchain.name), platforms.index(room.platform.name))
    )
    return list(dict.fromkeys(texts.column(matrix, room) for room in run))


def _of_column(matrix: Matrix, line: Sequence[Room], column: str, case: str) -> str:
    room = next((each for each in line if texts.column(matrix, each) == column), None)
    return "not run" if room is None else _headline(room, case)


def _run_cases(rooms: Sequence[Room]) -> list[str]:
    """The cases that were run in any room of a line; all where none was."""
    cases = sorted(rooms[0].benchmark.cases, key=natural_order)
    run = {record.case for room in rooms for record in room.records}
    return [case for case in cases if case in run or not run]


def _by_limits(rooms: Sequence[Room]) -> list[list[Room]]:
    """A benchmark's rooms grouped by limits. Each group is a row of the page."""
    names = dict.fromkeys(room.limits.name for room in rooms)
    return [[room for room in rooms if room.limits.name == name] for name in names]


def _name(room: Room) -> str:
    """The benchmark's name, with the limits where they are not its first."""
    name = room.benchmark.name
    return name if room.ordinary else f"{name}, {room.limits.name}"


def _named(matrix: Matrix, room: Room, row: Row) -> str:
    return (
        f"{row.implementation.name}: {room.benchmark.name} {row.case.name} on {texts.heading(matrix, room)}"
    )


def _slower(room: Room, row: Row) -> bool:
    ratio = room.ratio(room.competitor(row), row)
    return ratio is not None and verdict(ratio) is Verdict.SLOWER


def _headline(room: Room, case: str) -> str:
    rows = room.of_case(case)
    failed = sum(len(row.failed) for row in rows)
    suffix = f"; {failed} failed" if failed else ""
    if not any(row.passed or row.failed for row in rows):
        return "not run" if rows else "not in this profile"
    ours = room.fastest(case, [Side.OURS])
    reference = room.fastest(case, [Side.REFERENCE])
    if ours is not None and not room.ranked:
        return f"{_unranked(room)}{suffix}"
    if ours is None or reference is None:
        absent, side = (Side.OURS, "ours") if ours is None else (Side.REFERENCE, "reference")
        return f"{side}: {_why_absent([row for row in rows if row.side is absent])}{suffix}"
    ratio = room.ratio(reference, ours)
    if ratio is None:
        return f"no ratio{suffix}"
    if ratio.n < LEAST_PROCESSES:
        return f"gate passed, n={ratio.n}: not ranked{suffix}"
    headline = f"{units.ratio(ratio)}, {texts.timed(room, ours)} against {texts.timed(room, reference)}"
    if untimed := room.untimed_variants(case):
        headline += f", without {' and '.join(untimed)}"
    # A ratio to a reference that a peer beats would mislead, so the page shows the peer too.
    competitor = room.competitor(ours)
    other = room.ratio(competitor, ours)
    if competitor is not None and competitor is not reference and other is not None:
        headline += f"; {units.ratio(other)}, against {texts.timed(room, competitor)}"
    # The page also shows an implementation that takes less time because it does other work.
    if other_work := room.faster_at_other_work(case):
        headline += f"; other work: {texts.timed(room, other_work)}"
    return f"{headline}{suffix}"


def _unranked(room: Room) -> str:
    emulated = room.execution is not None and room.execution.kind is ExecutionKind.EMULATED
    return f"gate passed, {'emulated' if emulated else 'execution unknown'}: not ranked"


def _why_absent(rows: Sequence[Row]) -> str:
    """The most important state: a failure comes before a cell that was not run."""
    states = {texts.state(row) for row in rows}
    return next((state for state in ("failed", "not run") if state in states), "not run")
