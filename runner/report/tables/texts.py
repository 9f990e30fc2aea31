"""The text of each column of a row."""

from collections.abc import Mapping, Sequence

from runner.figures.statistics import Interval, outliers
from runner.matrix import Matrix, Side
from runner.records.execution import ExecutionKind
from runner.records.measured import GateCheck
from runner.report.tables import units
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

NOT_RANKED = "not ranked"
OTHER_WORK = "not the same work"
ONCE = "No ratio, for one repetition shows that the work is right, and not how fast it is"
UNJUDGED = "No ratio, for a referee's window was too short to judge, or less than half of it was timed"


def heading(matrix: Matrix, room: Room) -> str:
    """The platform, with the toolchain and the limits where they are not the first."""
    return _with_limits(matrix, room, column(matrix, room))


def place(matrix: Matrix, room: Room) -> str:
    """The platform, with limits that are not the first."""
    return _with_limits(matrix, room, room.platform.name)


def _with_limits(matrix: Matrix, room: Room, name: str) -> str:
    first = next(iter(matrix.limits.values()))
    return name if room.limits is first else f"{name}, {room.limits.name}"


def column(matrix: Matrix, room: Room) -> str:
    """The platform, with the toolchain where it is not the first."""
    first = next(iter(matrix.toolchains))
    return ", ".join([room.platform.name, *([] if room.toolchain.name == first else [room.toolchain.name])])


def execution(room: Room) -> str:
    """The execution of the room's cells, and whether they are ranked."""
    found = room.execution
    if found is None:
        return "not run"
    match found.kind:
        case ExecutionKind.NATIVE:
            return "native"
        case ExecutionKind.EMULATED:
            return f"emulated ({found.emulator or 'emulator unknown'}): not ranked"
        case ExecutionKind.UNKNOWN:
            return "unknown: not ranked"


def measured(room: Room) -> str:
    """The machine by a name that people know, and the days on which it measured; empty where nothing was run."""
    if not room.records:
        return ""
    machine = room.records[0].machine
    count = machine.logical_cpus
    cpus = f", {count} CPU{'s' if count != 1 else ''}" if count else ""
    days = sorted({record.launch.started_at[:10] for record in room.records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{units.or_unknown(machine.cpu_model)}{cpus}; {when}"


def state(row: Row) -> str | None:
    """The text in place of a figure where no record passed; None where a record passed."""
    if row.passed:
        return None
    if row.failed:
        return "failed"
    if row.left_out is not None:
        return f"absent: {row.left_out}"
    return "not run since the image, the machine or the matrix changed" if row.outdated else "not run"


def figure(row: Row, metric: str) -> str:
    """The figure of a metric with its interval, or the text in its place."""
    return _shown(row, row.figure(metric), metric)


def timed(room: Room, row: Row) -> str:
    """The implementation with its headline: ``rust 4.71 µs``."""
    found = row.figure(room.benchmark.headline)
    value = "" if found is None else f" {units.figure_value(found.value, room.benchmark.headline)}"
    return f"{row.implementation.name}{value}"


def waited(row: Row) -> str:
    """What a user waits for a training in all, with its interval, or the text in its place."""
    return _shown(row, row.waited, "seconds")


def _shown(row: Row, found: Interval | None, metric: str) -> str:
    return state(row) or (NOTHING if found is None else units.figure(found, metric))


def processes(row: Row, metric: str) -> str:
    """n, with flagged outliers and seeds that were not run."""
    found = row.processes(metric)
    text = str(len(found))
    flagged = len(outliers(found)) if found else 0
    if flagged:
        text += f" ({flagged} {'outlier' if flagged == 1 else 'outliers'})"
    if row.missing and (row.passed or row.failed):
        text += f", {len(row.missing)} not run"
    return text


def against_reference(room: Room, row: Row) -> str:
    """How many times faster than the reference."""
    return "reference" if row.implementation.reference else _ratio(room, room.reference(row.case.name), row)


def against_variant(room: Room, row: Row) -> str:
    """How many times faster than the fastest variant of the reference (not the row itself), by name."""
    return against(room, room.fastest(row.case.name, [Side.REFERENCE], but=row), row)


def against_competitor(room: Room, row: Row) -> str:
    """How many times faster than the fastest implementation that is not ours (and not the row itself), by name."""
    return against(room, room.competitor(row), row)


def against(room: Room, base: Row | None, row: Row) -> str:
    """How many times faster than ``base``, by name, or the text in its place."""
    text = _ratio(room, base, row)
    return (
        text
        if base is None or text in (NOTHING, NOT_RANKED, OTHER_WORK)
        else f"{text}: {base.implementation.name}"
    )


def gate(row: Row) -> str:
    """Whether the gate passed and how closely, or each typed failure with its detail."""
    parts = []
    if row.failed:
        failures = (record.failure for record in row.failed if record.failure is not None)
        reasons = dict.fromkeys(f"{failure.kind}: {failure.detail}" for failure in failures)
        parts.append(f"{len(row.failed)} of {len(row.failed) + len(row.passed)} failed: {'; '.join(reasons)}")
    if row.passed:
        worst = (
            None
            if row.implementation.reference
            else max(_differences(row), key=lambda check: check.share or 0.0, default=None)
        )
        passed = "passed" if row.same_work else f"passed: counts and episodes; {OTHER_WORK}"
        parts.append(f"passed: {worst.check}: {worst.detail}" if worst else passed)
    return "; ".join(parts) or NOTHING


def absent(room: Room) -> tuple[tuple[str, str], ...]:
    """Why rows or their ratios are not shown, and which: those without a ratio first, and those not run."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in room.rows:
        if (why := _why_absent(room, row)) is not None:
            found.setdefault(why, {}).setdefault(row.case.name, []).append(row.implementation.name)
    first = (UNJUDGED, ONCE, "Not run")
    return tuple(
        (why, _by_case(room, found[why]))
        for why in sorted(found, key=lambda each: first.index(each) if each in first else len(first))
    )


def _why_absent(room: Room, row: Row) -> str | None:
    if not row.shown:
        return "Not run" if row.left_out is None else f"Absent, {row.left_out}"
    if not (room.ranked and row.passed and row.same_work) or row.judged:
        return None
    return UNJUDGED if row.is_repeated else ONCE


def _by_case(room: Room, names: Mapping[str, Sequence[str]]) -> str:
    """The implementations that lack at several cases, each list of names once."""
    cases: dict[str, list[str]] = {}
    for case, found in names.items():
        whole = len(found) == len(room.of_case(case))
        cases.setdefault("all" if whole else ", ".join(found), []).append(case)
    if len(cases) == 1 and len(names) == len(room.benchmark.cases):
        return next(iter(cases))
    return "; ".join(f"{', '.join(each)}: {found}" for found, each in cases.items())


def other_work(room: Room) -> tuple[tuple[str, str], ...]:
    """Every shown implementation with other work, and how it differs."""
    return tuple(
        (each.name, "; ".join(each.differs))
        for each in room.benchmark.implementations.values()
        if each.differs and any(row.implementation is each and state(row) is None for row in room.rows)
    )


def _ratio(room: Room, base: Row | None, row: Row) -> str:
    if row.passed and not row.same_work:
        return OTHER_WORK
    if row.passed and not room.ranked:
        return NOT_RANKED
    found = room.ratio(base, row)
    return NOTHING if found is None else units.ratio(found)


def _differences(row: Row) -> Sequence[GateCheck]:
    """The checks of this row's gates that compared with the reference."""
    return [check for record in row.passed for check in record.gate if check.share is not None]
