"""Cells, and the content key that finds a finished cell again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from runner.matrix import Benchmark, Case, Implementation, Limits, Matrix, Platform, Profile
from runner.matrix.toolchain import Toolchain
from runner.records import key
from runner.records.execution import Execution
from runner.records.key import Content, Ingredients
from runner.records.record import content_hash

# What a line about a reference's cell adds that runs for emulated ones.
_FOR_EMULATED = "for emulated cells"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the matrix. ``parameters`` are the case's with the profile's sizes added.

    ``aside`` holds the names of its toolchain and limits, each only where it is not the first. A line about the cell
    has to add these names. ``reference_platform`` is where the reference's outputs come from, for an emulated cell that
    the native reference judges; None where the reference runs beside the cell. ``judges`` marks that native cell of the
    reference, which has the emulated sizes and is on no page.
    """

    benchmark: Benchmark
    case: Case
    implementation: Implementation
    toolchain: Toolchain
    platform: Platform
    limits: Limits
    seed: int
    parameters: Mapping[str, Any]
    aside: tuple[str, ...] = ()
    reference_platform: Platform | None = None
    judges: bool = False
    emulated: bool = False

    @property
    def place(self) -> str:
        """Its platform and the names in ``aside``, in words."""
        return " ".join((self.platform.name, *self.aside))

    @property
    def left_out(self) -> str | None:
        """Why the matrix excludes it, or None."""
        return self.implementation.left_out(
            self.platform.name,
            self.case.name,
            self.limits.name,
            self.toolchain.name,
            emulated=self.emulated,
        )

    @property
    def judge(self) -> "Cell | None":
        """The native cell of the reference that judges this one; None where the reference runs beside it."""
        if self.reference_platform is None:
            return None
        return replace(
            self,
            implementation=self.benchmark.reference,
            platform=self.reference_platform,
            reference_platform=None,
            judges=True,
            aside=(*self.aside, _FOR_EMULATED),
        )

    @property
    def in_its_own_room(self) -> "Cell":
        """The cell as its platform's own room has it, and not as the judge of other cells."""
        return replace(self, judges=False)

    def names(self) -> dict[str, str | int]:
        """The cell as a record names it."""
        return {
            "benchmark": self.benchmark.name,
            "case": self.case.name,
            "implementation": self.implementation.name,
            "toolchain": self.toolchain.name,
            "platform": self.platform.name,
            "limits": self.limits.name,
            "seed": self.seed,
        }

    def __str__(self) -> str:
        return (
            f"{self.benchmark.name} {self.case.name} {self.implementation.name} {self.place} seed {self.seed}"
        )


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The part of the matrix that a user asked for. Empty means everything."""

    profile: str
    architectures: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    limits: tuple[str, ...] = ()
    toolchains: tuple[str, ...] = ()

    def takes(self, benchmark: str, implementation: str, case: str) -> bool:
        """Whether ``--only BENCHMARK[/IMPLEMENTATION[/CASE]]`` selects these names (globs)."""
        name = (benchmark, implementation, case)
        return not self.only or any(_names(pattern, name) for pattern in self.only)

    def takes_some_of(self, matrix: Matrix, benchmark: Benchmark) -> bool:
        """Whether any cell of a benchmark is selected, by its names and its limits."""
        names = product(benchmark.implementations, benchmark.cases)
        return bool(self.limits_of(matrix, benchmark)) and any(
            self.takes(benchmark.name, *each) for each in names
        )

    def platforms_of(self, matrix: Matrix, emulated: Callable[[Platform], bool]) -> tuple[Platform, ...]:
        """The selected platforms. Emulation here stands in only where no selected machine has the architecture.

        Args:
            matrix: the whole.
            emulated: whether a platform of this machine is emulated. A platform elsewhere is not asked about.
        """
        found = [
            each
            for each in matrix.platforms.values()
            if (not self.architectures or each.architecture in self.architectures)
            and (not self.platforms or each.name in self.platforms)
        ]
        elsewhere = {each.architecture for each in found if not each.is_here}
        return tuple(
            each
            for each in found
            if each.name in self.platforms
            or not (each.is_here and each.architecture in elsewhere and emulated(each))
        )

    def limits_of(self, matrix: Matrix, benchmark: Benchmark) -> tuple[Limits, ...]:
        """The selected limits of a benchmark: those that ``--limits`` names, else the first."""
        every = matrix.limits_of(benchmark)
        return tuple(each for each in every if each.name in self.limits) if self.limits else every[:1]

    def toolchains_of(self, matrix: Matrix) -> tuple[Toolchain, ...]:
        """The selected toolchains: those that ``--toolchain`` names, else the profile's."""
        profile = matrix.profiles.get(self.profile)
        wanted = self.toolchains or (profile and profile.toolchains) or tuple(matrix.toolchains)
        return tuple(each for each in matrix.toolchains.values() if each.name in wanted)


def _names(pattern: str, name: tuple[str, ...]) -> bool:
    """Whether each part of the pattern matches that part of the name. A missing part matches every name."""
    parts = pattern.split("/")
    return len(parts) <= len(name) and all(map(fnmatchcase, name, parts))


def select(matrix: Matrix, selection: Selection, executions: Mapping[str, Execution]) -> Iterator[Cell]:
    """The selected cells, in the order of the matrix.

    Args:
        matrix: the whole.
        selection: what of it.
        executions: how each selected platform executes, by its name, and others that may judge emulated cells. The
            execution decides sizes and seeds.
    """
    profile = matrix.profiles[selection.profile]
    platforms = selection.platforms_of(matrix, lambda each: executions[each.name].emulated)
    for toolchain in selection.toolchains_of(matrix):
        for limits in matrix.limits.values():
            # The platforms that answer the question come first.
            for platform in sorted(platforms, key=lambda each: executions[each.name].emulated):
                for benchmark in matrix.benchmarks.values():
                    asked_for = bool(selection.only or selection.limits) or (
                        profile.runs(benchmark.name) and not benchmark.on_request
                    )
                    if asked_for and limits in selection.limits_of(matrix, benchmark):
                        execution = executions[platform.name]
                        firsts = (next(iter(matrix.toolchains.values())), matrix.limits_of(benchmark)[0])
                        aside = tuple(each.name for each in (toolchain, limits) if each not in firsts)
                        elsewhere = _reference_platform(matrix, benchmark, profile, executions, execution)
                        yield from _of_benchmark(
                            benchmark,
                            toolchain,
                            limits,
                            platform,
                            profile,
                            selection,
                            execution,
                            aside,
                            elsewhere,
                        )


def _of_benchmark(
    benchmark: Benchmark,
    toolchain: Toolchain,
    limits: Limits,
    platform: Platform,
    profile: Profile,
    selection: Selection,
    execution: Execution,
    aside: tuple[str, ...],
    reference_platform: Platform | None,
) -> Iterator[Cell]:
    if profile.name not in benchmark.sizes:
        return
    sizes = benchmark.sizes[profile.name].of(emulated=execution.emulated)
    elsewhere = benchmark.left_to_longer(profile.name, emulated=execution.emulated)
    for seed in selection.seeds or profile.seeds.of(emulated=execution.emulated):
        for implementation in benchmark.implementations.values():
            for case in benchmark.cases.values():
                if not selection.takes(benchmark.name, implementation.name, case.name):
                    continue
                if elsewhere & {implementation.name, case.name}:
                    continue
                yield Cell(
                    benchmark=benchmark,
                    case=case,
                    implementation=implementation,
                    toolchain=toolchain,
                    platform=platform,
                    limits=limits,
                    seed=seed,
                    parameters={**case.parameters, **sizes},
                    aside=aside,
                    reference_platform=reference_platform,
                    emulated=execution.emulated,
                )


def _reference_platform(
    matrix: Matrix,
    benchmark: Benchmark,
    profile: Profile,
    executions: Mapping[str, Execution],
    execution: Execution,
) -> Platform | None:
    """The platform whose native reference judges cells of this execution; None where the reference runs beside them."""
    elsewhere = benchmark.left_to_longer(profile.name, emulated=execution.emulated)
    if benchmark.reference.name not in elsewhere:
        return None
    return next(
        (
            each
            for each in matrix.platforms.values()
            if each.name in executions and executions[each.name].ranked
        ),
        None,
    )


def content_key(
    cell: Cell, *, execution_hash: str, execution: Execution, executor: str, machine: Mapping[str, Any]
) -> str:
    """The content key of a new record: the hash of its content by the newest rules."""
    found = contents(
        cell, execution_hash=execution_hash, execution=execution, executor=executor, machine=machine
    )
    return content_hash(found[key.newest_key_version()])


def contents(
    cell: Cell, *, execution_hash: str, execution: Execution, executor: str, machine: Mapping[str, Any]
) -> Mapping[int, Content]:
    """All that a cell's figures and verdict depend on, by each version of the rules, the newest first.

    The content leaves out the runner's code and the templates, so editing a table runs no cell again.
    """
    ingredients = Ingredients(
        names={
            "benchmark": cell.benchmark.name,
            "case": cell.case.name,
            "implementation": cell.implementation.name,
        },
        command=cell.implementation.command,
        parameters=cell.parameters,
        seed=cell.seed,
        inputs=cell.benchmark.inputs,
        gate=cell.benchmark.gate.facts(),
        counts=cell.benchmark.counts,
        headline=cell.benchmark.headline,
        reference=cell.benchmark.reference.command,
        limits=cell.limits.facts(),
        toolchain=asdict(cell.toolchain),
        architecture=cell.platform.architecture,
        execution_hash=execution_hash,
        execution={"kind": execution.kind.value, "emulator": execution.emulator},
        executor=executor,
        machine=machine,
        other_work=bool(cell.implementation.differs),
        refereed=cell.benchmark.refereed,
        reference_platform=None if cell.reference_platform is None else cell.reference_platform.name,
    )
    return {
        version: key.KEY_VERSIONS[version](ingredients) for version in sorted(key.KEY_VERSIONS, reverse=True)
    }
