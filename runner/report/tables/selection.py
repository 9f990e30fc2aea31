"""Which records a table shows: for every requested cell, whether it passed, failed or was not run.

A room is one benchmark, platform, toolchain and limits; within it times may be compared. Its machine, execution and
image of each target are those of the newest record. The parts of the work that no image holds are also the newest
record's (`comparison.newest_work`). Parameters decide whether a record belongs to the profile. The profile's name in
a record does not count, because a reused record keeps an earlier name.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from runner.executors.instructions import left_out
from runner.figures.comparison import believed, improvement, machine_of, newest_work, one_run, processes
from runner.figures.statistics import Interval, figure_interval
from runner.matrix import Benchmark, Case, Implementation, Limits, Matrix, Platform, Profile, Side
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.order import oldest_first
from runner.records.record import Record

COMPETITORS = (Side.REFERENCE, Side.PEER)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One implementation at one case: its processes, one record for each seed.

    ``missing`` holds the profile's seeds that have no record. ``disbelieved`` are records that passed, of an
    implementation that another launch caught. ``outdated`` says that records of another machine,
    image or matrix were left out. ``left_out`` says why the matrix excludes the cell.
    """

    case: Case
    implementation: Implementation
    side: Side
    passed: tuple[Record, ...]
    failed: tuple[Record, ...]
    missing: tuple[int, ...]
    outdated: bool
    left_out: str | None
    disbelieved: tuple[Record, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether it has anything to show: records, or the word that there were some."""
        return bool(self.passed or self.failed) or self.outdated

    @property
    def same_work(self) -> bool:
        """Whether its times may be compared with those of other rows."""
        return not self.implementation.differs

    @property
    def judged(self) -> bool:
        """Whether each window was long enough for a referee to judge the claims; without a referee none were."""
        return all(record.judged for record in self.passed)

    @property
    def is_repeated(self) -> bool:
        """Whether each window had more than one repetition; of one the referee judges no time."""
        return all(record.is_repeated for record in self.passed)

    def processes(self, metric: str) -> tuple[tuple[float, ...], ...]:
        """The values of ``metric`` in the passed records."""
        return processes(self.passed, metric)

    def figure(self, metric: str) -> Interval | None:
        """The figure of ``metric`` with its interval, or None where no passed record has it."""
        found = self.processes(metric)
        return figure_interval(found) if found else None

    @property
    def waited(self) -> Interval | None:
        """From the start of a training's process to its result, as a figure; None where no passed record knows it."""
        found = [(seconds,) for record in self.passed if (seconds := record.waited_seconds) is not None]
        return figure_interval(found) if found else None


@dataclass(frozen=True)
class Room:
    """The rows of one benchmark on one platform under one toolchain and limits, in the order of the matrix.

    ``execution`` is None where no cell was run. ``asked_seeds`` are the profile's.
    """

    benchmark: Benchmark
    platform: Platform
    toolchain: Toolchain
    limits: Limits
    execution: Execution | None
    parameters: Mapping[str, Mapping[str, Any]]
    asked_seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    outdated: int
    elsewhere: tuple[str, ...] = ()
    """The cases and implementations that the profile leaves to longer profiles. They have no rows."""

    @property
    def ranked(self) -> bool:
        """Whether the times of the room may be compared with each other."""
        return self.execution is not None and self.execution.ranked

    @property
    def ordinary(self) -> bool:
        """Whether its limits are the benchmark's first."""
        return self.limits.name in self.benchmark.limits[:1] or not self.benchmark.limits

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Every record shown, failed ones too."""
        return tuple(record for row in self.rows for record in (*row.passed, *row.failed))

    def of_case(self, case: str) -> tuple[Row, ...]:
        """The rows of one case."""
        return tuple(row for row in self.rows if row.case.name == case)

    def fastest(self, case: str, sides: Iterable[Side], *, but: Row | None = None) -> Row | None:
        """The row of ``case`` with the best headline among ``sides``, without the row ``but``; None if there is none."""
        wanted = set(sides)
        return self._best(
            row for row in self.of_case(case) if row.side in wanted and row.same_work and row is not but
        )

    def fastest_of(self, case: str, names: Collection[str]) -> Row | None:
        """The row of ``case`` with the best headline among these implementations at the same work, or None."""
        return self._best(
            row for row in self.of_case(case) if row.implementation.name in names and row.same_work
        )

    def faster_at_other_work(self, case: str) -> Row | None:
        """The row with the smallest median that is not ours, if it does other work than the reference."""
        found = self._best(row for row in self.of_case(case) if row.side in COMPETITORS)
        return None if found is None or found.same_work else found

    def fastest_at_other_work(self, case: str) -> Row | None:
        """The row with the smallest median among those that are not ours and do other work than the reference."""
        return self._best(row for row in self.of_case(case) if row.side in COMPETITORS and not row.same_work)

    def _best(self, rows: Iterable[Row]) -> Row | None:
        metric = self.benchmark.headline
        timed = [(figure.value, row) for row in rows if (figure := row.figure(metric)) is not None]
        return min(timed, key=lambda each: each[0])[1] if timed else None

    def reference(self, case: str) -> Row:
        """The row of the implementation that the gate compares with."""
        return next(row for row in self.of_case(case) if row.implementation.reference)

    def untimed_variants(self, case: str) -> list[str]:
        """The reference's variants without a time here: one of them might be the fastest."""
        timed = {
            row.implementation.name for row in self.of_case(case) if row.processes(self.benchmark.headline)
        }
        return [
            each.name
            for each in self.benchmark.implementations.values()
            if each.side is Side.REFERENCE
            and each.name not in timed
            and not each.differs
            and case not in each.without
        ]

    def competitor(self, row: Row) -> Row | None:
        """The fastest row that is not ours, and not ``row`` itself."""
        return self.fastest(row.case.name, COMPETITORS, but=row)

    def ratio(self, base: Row | None, against: Row) -> Interval | None:
        """How many times faster ``against`` is than ``base``; None where no ratio is possible or allowed."""
        if not self.ranked or base is None or base is against or not (base.same_work and against.same_work):
            return None
        if not (base.judged and against.judged) or not one_run(base.passed, against.passed):
            return None
        sides = [row.processes(self.benchmark.headline) for row in (base, against)]
        if not all(sides):
            return None
        try:
            return improvement(sides[0], sides[1], self.benchmark.headline)
        except ValueError:
            # A record of unknown origin may hold zero or an impossible value.
            return None


def rooms(matrix: Matrix, records: Sequence[Record], benchmark: str, *, profile: str) -> tuple[Room, ...]:
    """The rooms of one benchmark, in the order of the matrix. ``records`` may come in any order.

    Toolchains and limits other than the first run on request, and have rooms only where they were run. A benchmark
    without sizes in the profile has none.
    """
    if profile not in matrix.benchmarks[benchmark].sizes:
        return ()
    mine = oldest_first(record for record in records if record.benchmark == benchmark)
    ran = {(record.cell.toolchain, record.cell.limits) for record in mine}
    return tuple(
        _room(
            mine,
            benchmark=matrix.benchmarks[benchmark],
            platform=platform,
            toolchain=toolchain,
            limits=limits,
            profile=matrix.profiles[profile],
        )
        for index, (toolchain, limits) in enumerate(
            product(matrix.toolchains.values(), matrix.limits_of(matrix.benchmarks[benchmark]))
        )
        if index == 0 or (toolchain.name, limits.name) in ran
        for platform in matrix.platforms.values()
    )


def _room(
    records: Sequence[Record],
    *,
    benchmark: Benchmark,
    platform: Platform,
    toolchain: Toolchain,
    limits: Limits,
    profile: Profile,
) -> Room:
    place = (platform.name, toolchain.name, limits.name)
    sizes = benchmark.sizes[profile.name]
    here = [
        record
        for record in records
        if (record.cell.platform, record.cell.toolchain, record.cell.limits) == place
        and record.case in benchmark.cases
        and record.implementation in benchmark.implementations
        and record.parameters
        == {**benchmark.cases[record.case].parameters, **sizes.of(emulated=record.execution.emulated)}
    ]
    execution = here[-1].execution if here else None
    emulated = execution is not None and execution.emulated
    current = _current(here)
    seeds = profile.seeds.of(emulated=emulated)
    elsewhere = benchmark.left_to_longer(profile.name, emulated=emulated)
    return Room(
        benchmark=benchmark,
        platform=platform,
        toolchain=toolchain,
        limits=limits,
        execution=execution,
        parameters={
            name: {**case.parameters, **sizes.of(emulated=emulated)} for name, case in benchmark.cases.items()
        },
        asked_seeds=seeds,
        rows=tuple(
            _row(
                here,
                current,
                case=case,
                implementation=implementation,
                platform=platform,
                toolchain=toolchain,
                limits=limits,
                seeds=seeds,
                elsewhere=elsewhere,
                emulated=emulated,
            )
            for case in benchmark.cases.values()
            for implementation in benchmark.implementations.values()
            if not elsewhere & {implementation.name, case.name}
            or (implementation.reference and case.name not in elsewhere)
        ),
        elsewhere=tuple(sorted(elsewhere - {benchmark.reference.name})),
        outdated=len(here) - len(current),
    )


def _row(
    here: Sequence[Record],
    current: Sequence[Record],
    *,
    case: Case,
    implementation: Implementation,
    platform: Platform,
    toolchain: Toolchain,
    limits: Limits,
    seeds: tuple[int, ...],
    elsewhere: frozenset[str],
    emulated: bool,
) -> Row:
    def mine(records: Sequence[Record]) -> list[Record]:
        return [
            each for each in records if (each.case, each.implementation) == (case.name, implementation.name)
        ]

    found = sorted(mine(current), key=lambda record: record.seed)
    kept = believed(found)
    return Row(
        case=case,
        implementation=implementation,
        side=implementation.side,
        passed=tuple(record for record in kept if not record.failed),
        failed=tuple(record for record in found if record.failed),
        missing=tuple(seed for seed in seeds if seed not in {record.seed for record in found}),
        outdated=not found and bool(mine(here)),
        left_out=implementation.left_out(
            platform.name, case.name, limits.name, toolchain.name, emulated=emulated
        )
        or left_out(limits, platform)
        # A reference has this row all the same: tables name what the others were compared with.
        or ("its native outputs judge the emulated ones" if implementation.name in elsewhere else None),
        disbelieved=tuple(record for record in found if record not in kept),
    )


def _current(records: Sequence[Record]) -> list[Record]:
    """The records that belong together (``records``: oldest first).

    They share machine and execution with the newest record, and are of the newest work.
    """
    if not records:
        return []
    setting = (machine_of(records[-1]), records[-1].execution)
    together = [record for record in records if (machine_of(record), record.execution) == setting]
    return newest_work(together)
