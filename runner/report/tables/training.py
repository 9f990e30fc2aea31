"""The view of a training's page: times, their parts, returns, and every single seed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runner.figures.statistics import figure_interval, interquartile_mean, spread
from runner.matrix import Benchmark, Matrix, Returns, Updates
from runner.records.record import Record
from runner.report.tables import texts, units
from runner.report.tables.failures import Failures, failures
from runner.report.tables.head import Head
from runner.report.tables.headline import headline_table
from runner.report.tables.learning import mean_of_last, steps_until_learnt
from runner.report.tables.markdown import Table
from runner.report.tables.memory import memory_table
from runner.report.tables.parity import parity_table
from runner.report.tables.roofline import training_limit_table
from runner.report.tables.same_returns import SameReturns
from runner.report.tables.selection import Room, Row
from runner.report.tables.toolchains import toolchains_table
from runner.report.tables.units import NOTHING

_INITIALISATION, _TRAINING = "initialisation_seconds", "training_seconds"
_COMPILING = "compile_seconds"


@dataclass(frozen=True, kw_only=True)
class TrainingRoom:
    """One platform's part of the page."""

    heading: str
    execution: str
    measured: str
    run: bool
    ranked: bool
    times: Table
    other_work: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...]
    elsewhere: str
    failures: Failures
    parts: Table
    limit: Table
    parity: Table | None
    returns: Table
    seeds: Table
    memory: Table


@dataclass(frozen=True, kw_only=True)
class TrainingView:
    """The whole page."""

    head: Head
    episodes: int
    thresholds: str
    updates: Updates | None
    rooms: tuple[TrainingRoom, ...]
    toolchains: Table
    same_returns: SameReturns | None


def training_view(
    matrix: Matrix,
    records: Sequence[Record],
    benchmark: Benchmark,
    found: Sequence[Room],
    *,
    head: Head,
    same_returns: SameReturns | None,
) -> TrainingView:
    """The page of ``benchmark`` with the rooms ``found``, and what is said of all rooms' returns together.

    ``records`` give the machine's best rates.

    Raises:
        ValueError: the benchmark does not say how its returns are summarised (a valid matrix does).
    """
    if benchmark.returns is None:
        raise ValueError(f"the training {benchmark.name} has no returns")
    returns = benchmark.returns
    return TrainingView(
        head=head,
        episodes=returns.episodes,
        thresholds=", ".join(f"{case} {value:g}" for case, value in returns.thresholds.items()),
        updates=benchmark.updates,
        rooms=tuple(
            _room(matrix, room, found, returns, training_limit_table(matrix, records, room)) for room in found
        ),
        toolchains=toolchains_table(matrix, found),
        same_returns=same_returns,
    )


def _room(
    matrix: Matrix, room: Room, all_rooms: Sequence[Room], returns: Returns, limit: Table
) -> TrainingRoom:
    return TrainingRoom(
        heading=texts.heading(matrix, room),
        execution=texts.execution(room),
        measured=texts.measured(room),
        run=bool(room.records),
        ranked=room.ranked,
        times=headline_table(room, all_rooms, column=room.benchmark.headline.replace("_", " ")),
        other_work=texts.other_work(room),
        absent=texts.absent(room),
        elsewhere=", ".join(room.elsewhere),
        failures=failures(room),
        parts=_parts(room),
        limit=limit,
        parity=parity_table(room),
        returns=_returns(room, returns),
        seeds=_seeds(room, returns),
        memory=memory_table(room, by_case=True),
    )


def _parts(room: Room) -> Table:
    compiles = any(row.figure(_COMPILING) is not None for row in room.rows if row.passed)
    return Table(
        headers=(
            "case",
            "implementation",
            "initialisation",
            *(("of it compiling",) if compiles else ()),
            "training",
            "environment steps/s",
            "environment steps",
            "gradient steps",
        ),
        rows=tuple(
            (
                row.case.name,
                row.implementation.name,
                texts.figure(row, _INITIALISATION),
                *((texts.figure(row, _COMPILING),) if compiles else ()),
                texts.figure(row, _TRAINING),
                _steps_per_second(row),
                _counts(row, "environment_steps"),
                _counts(row, "gradient_steps"),
            )
            for row in room.rows
            if row.passed
        ),
    )


def _returns(room: Room, returns: Returns) -> Table:
    # Older records know nothing of it.
    replayed = any(map(_is_replayed, room.records))
    return Table(
        headers=(
            "case",
            "implementation",
            f"return, last {returns.episodes} episodes: mean ± std",
            "IQM",
            "lowest to highest seed",
            "seeds at the threshold",
            "steps to threshold (median)",
            "seconds to threshold (median)",
            *(("episodes", "final weights, played by the referee") if replayed else ()),
            "n",
        ),
        rows=tuple(
            (row.case.name, row.implementation.name, *_returns_of(row, returns, replayed=replayed))
            for row in room.rows
            if row.passed
        ),
    )


def _returns_of(row: Row, returns: Returns, *, replayed: bool) -> tuple[str, ...]:
    again = _played_by_the_referee(row) if replayed else ()
    means = [
        mean for record in row.passed if (mean := mean_of_last(record.played, returns.episodes)) is not None
    ]
    if not means:
        return (*(NOTHING,) * 6, *again, "0")
    reached = [
        (steps, record) for record in row.passed if (steps := steps_until_learnt(record, returns)) is not None
    ]
    middle = interquartile_mean(means)
    return (
        units.mean_and_deviation(spread(means)),
        units.plain_interval(middle),
        f"{units.plain(min(means))} to {units.plain(max(means))}",
        f"{len(reached)} of {len(means)}" if row.case.name in returns.thresholds else "no threshold",
        # A median over only the seeds that reached the threshold would favour implementations that rarely reach it.
        *(_medians(reached) if len(reached) == len(means) else (NOTHING, NOTHING)),
        *again,
        str(len(means)),
    )


def _is_replayed(record: Record) -> bool:
    return any(each.check == "replay" for each in record.gate)


def _played_by_the_referee(row: Row) -> tuple[str, str]:
    """Whether the referee played the episodes again, and what it earned with the final weights."""
    again = "played again" if row.passed and all(map(_is_replayed, row.passed)) else "claimed"
    weights = [
        record.referee.final_weights.mean
        for record in row.passed
        if record.referee and record.referee.final_weights
    ]
    return again, units.mean_and_deviation(spread(weights)) if weights else NOTHING


def _medians(reached: Sequence[tuple[int, Record]]) -> tuple[str, str]:
    """Of the steps and of the seconds to the threshold."""
    steps = units.count(figure_interval([(steps,) for steps, _ in reached]).value)
    speeds = [speed for _, record in reached if (speed := _speed(record))]
    if len(speeds) < len(reached):
        return steps, NOTHING
    seconds = [(steps / speed,) for (steps, _), speed in zip(reached, speeds, strict=True)]
    return steps, units.seconds(figure_interval(seconds).value)


def _seeds(room: Room, returns: Returns) -> Table:
    headers = (
        "case",
        "implementation",
        "seed",
        "from start to result",
        "initialisation",
        "training",
        "environment steps/s",
        "gradient steps",
        "episodes",
        f"mean of last {returns.episodes}",
        "steps to threshold",
        "seconds to threshold",
        "process peak (VmHWM)",
        "gate",
    )
    rows = [
        (row.case.name, row.implementation.name, *_seed(record, returns))
        for row in room.rows
        for record in sorted((*row.passed, *row.failed), key=lambda record: record.seed)
    ]
    # The other tables show a cell that was not run in one row.
    rows += [
        (row.case.name, row.implementation.name, str(seed), "not run", *(NOTHING,) * 10)
        for row in room.rows
        if row.passed or row.failed
        for seed in row.missing
    ]
    return Table(headers=headers, rows=tuple(rows), right=frozenset({"seed"}))


def _seed(record: Record, returns: Returns) -> tuple[str, ...]:
    if record.failure is not None:
        reason = f"{record.failure.kind}: {record.failure.detail}"
        return (str(record.seed), "failed", *(NOTHING,) * 9, reason)
    mean = mean_of_last(record.played, returns.episodes)
    steps = steps_until_learnt(record, returns)
    speed = _speed(record)
    peak, waited = record.memory.vmhwm_bytes, record.waited_seconds
    return (
        str(record.seed),
        NOTHING if waited is None else units.seconds(waited),
        *(_one_duration(record, metric) for metric in (_INITIALISATION, _TRAINING)),
        NOTHING if speed is None else units.count(speed),
        _one_count(record, "gradient_steps"),
        units.count(len(record.played)),
        NOTHING if mean is None else units.plain(mean),
        NOTHING if steps is None else units.count(steps),
        NOTHING if steps is None or not speed else units.seconds(steps / speed),
        "unknown" if peak is None else units.size(peak),
        "passed",
    )


def _one_duration(record: Record, metric: str) -> str:
    values = record.values(metric)
    return units.seconds(figure_interval([values]).value) if values else NOTHING


def _one_count(record: Record, name: str) -> str:
    value = record.counts.get(name)
    return NOTHING if value is None else units.count(value)


def _counts(row: Row, name: str) -> str:
    return ", ".join(dict.fromkeys(_one_count(record, name) for record in row.passed))


def _steps_per_second(row: Row) -> str:
    speeds = [(speed,) for record in row.passed if (speed := _speed(record)) is not None]
    if not speeds:
        return NOTHING
    found = figure_interval(speeds)
    return f"{units.significant(found.value)}{units.bounds(found)}"


def _speed(record: Record) -> float | None:
    """Environment steps per second of training time; None where no time, or one too short for a rate, was measured."""
    values = record.values(_TRAINING)
    steps = record.counts.get("environment_steps")
    if not values or steps is None or values[0] <= 0:
        return None
    speed = float(steps) / values[0]
    return speed if math.isfinite(speed) else None
