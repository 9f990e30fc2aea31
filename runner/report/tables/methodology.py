"""The view of the methodology page: the platforms, machines, images, limits and statistics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.figures.statistics import LEAST_PROCESSES, RESAMPLES
from runner.matrix import Matrix, OutputCheck
from runner.records.place import LimitsInForce
from runner.records.record import Record
from runner.report.tables import coverage, texts, units
from runner.report.tables.machines import by_machine
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room
from runner.report.tables.units import NOTHING, UNKNOWN, or_unknown
from runner.report.tables.warnings import warnings

NEVER_PUSHED = "never pushed"
_MACHINE = {
    "CPU": "cpu_model",
    "architecture": "architecture",
    "logical CPUs": "logical_cpus",
    "physical cores": "physical_cores",
    "operating system": "os",
    "kernel": "kernel",
    "virtual machine": "hypervisor",
    "governor": "governor",
    "turbo": "turbo",
    "SMT": "smt",
}


@dataclass(frozen=True, kw_only=True)
class PlatformView:
    """Everything about one platform; ``run`` is false where it has no record."""

    heading: str
    run: bool
    execution: str
    machine: Table
    software: Table
    images: Table
    limits: Table
    runs: Table
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MethodologyView:
    """The whole page."""

    profile: str
    minutes: str
    toolchains: Table
    gates: Table
    platforms: tuple[PlatformView, ...]
    resamples: str
    least_processes: int
    equivalence: Table
    coverage: Table
    coverage_trials: str
    coverage_resamples: str


def methodology_view(
    matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], *, profile: str
) -> MethodologyView:
    """The page over the rooms of every benchmark."""
    return MethodologyView(
        profile=profile,
        minutes=f"{matrix.profiles[profile].minutes:g}",
        toolchains=Table(
            headers=("toolchain", "suite", "Rust", "Python", "PyTorch"),
            rows=tuple(
                (each.name, each.suite, each.rust, each.python, each.pytorch)
                for each in matrix.toolchains.values()
                if any(room.toolchain is each for rooms in benchmark_rooms for room in rooms)
            ),
        ),
        gates=_gates(matrix),
        platforms=tuple(_platform(matrix, rooms) for rooms in _by_place(matrix, benchmark_rooms)),
        resamples=units.count(RESAMPLES),
        least_processes=LEAST_PROCESSES,
        equivalence=_equivalence(matrix),
        coverage=_coverage(),
        coverage_trials=units.count(coverage.TRIALS),
        coverage_resamples=units.count(coverage.RESAMPLES),
    )


def _by_place(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]]) -> list[list[Room]]:
    """The rooms of all benchmarks that share a toolchain, limits and a platform."""
    places: dict[tuple[str, str, str], list[Room]] = {
        (toolchain, limits, platform): []
        for toolchain in matrix.toolchains
        for limits in matrix.limits
        for platform in matrix.platforms
    }
    for rooms in benchmark_rooms:
        for room in rooms:
            places[room.toolchain.name, room.limits.name, room.platform.name].append(room)
    return [rooms for rooms in places.values() if rooms]


def _platform(matrix: Matrix, rooms: Sequence[Room]) -> PlatformView:
    records = [record for room in rooms for record in room.records]
    return PlatformView(
        heading=texts.heading(matrix, rooms[0]),
        run=bool(records),
        execution=", ".join(dict.fromkeys(texts.execution(room) for room in rooms if room.records)),
        machine=_machines(records),
        software=_software(records),
        images=_images(records),
        limits=_limits(rooms, records),
        runs=_runs(rooms),
        warnings=warnings(rooms),
    )


def _machines(records: Iterable[Record]) -> Table:
    """One column for each machine: benchmarks of one platform may have run on different machines."""
    machines = [machine for machine, _ in by_machine(records)]
    return Table(
        headers=("machine", *(("",) if len(machines) == 1 else map(str, range(1, len(machines) + 1)))),
        rows=(
            *((name, *(or_unknown(each.get(key)) for each in machines)) for name, key in _MACHINE.items()),
            ("memory", *(_bytes(each.get("memory_bytes")) for each in machines)),
            ("swap", *(_bytes(each.get("swap_bytes")) for each in machines)),
            ("caches", *(_caches(each.get("caches")) for each in machines)),
            ("SIMD", *(", ".join(each.get("simd") or ()) or UNKNOWN for each in machines)),
        ),
    )


def _software(records: Sequence[Record]) -> Table:
    targets = sorted({record.image.target for record in records})
    versions: dict[str, dict[str, str]] = {}
    for record in records:
        for component, version in record.software.items():
            here = versions.setdefault(component, {})
            target = record.image.target
            known = or_unknown(version)
            here[target] = known if here.get(target, known) == known else f"{here[target]}, {known}"
    return Table(
        headers=("software", *targets),
        rows=tuple(
            (component, *(here.get(target, NOTHING) for target in targets))
            for component, here in sorted(versions.items())
        ),
    )


def _images(records: Iterable[Record]) -> Table:
    return Table(
        headers=("image", "architecture", "identity", "execution hash", "config digest", "manifest digest"),
        # Rows are sorted by their text, because records of a publication and of a store order their keys differently.
        rows=tuple(
            sorted(
                (
                    image.target,
                    image.architecture,
                    or_unknown(image.identity),
                    or_unknown(image.execution_hash),
                    or_unknown(image.config_digest),
                    image.manifest_digest or NEVER_PUSHED,
                )
                for image in {record.image for record in records}
            )
        ),
    )


def _limits(rooms: Sequence[Room], records: Iterable[Record]) -> Table:
    limits = rooms[0].limits
    cap = limits.instructions
    applied = dict.fromkeys((record.launch.executor, record.launch.limits) for record in records)
    return Table(
        headers=("limits", "executor", "CPU set", "memory (no swap)", "pids", "threads", "enforced"),
        rows=tuple(
            dict.fromkeys(
                (
                    limits.name if cap is None else f"{limits.name}: {cap.value} at most",
                    executor,
                    f"{or_unknown(each.cpuset)} ({limits.cpus} asked{_sharing(each)})",
                    units.size(each.memory_bytes),
                    str(each.pids),
                    str(each.threads),
                    ", ".join(each.enforced) or "none",
                )
                for executor, each in applied
            )
        ),
    )


def _sharing(limits: LimitsInForce) -> str:
    """The CPUs that share a core, if the record names any."""
    return "".join(f"; {each} share a core" for each in limits.siblings or ())


def _runs(rooms: Sequence[Room]) -> Table:
    return Table(
        headers=("benchmark", "case", "parameters", "seeds asked for", "seeds run"),
        rows=tuple(
            (
                room.benchmark.name,
                case,
                ", ".join(f"{key} {value}" for key, value in parameters.items()),
                ", ".join(map(str, room.asked_seeds)),
                ", ".join(
                    map(
                        str,
                        sorted(
                            {each.seed for row in room.of_case(case) for each in (*row.passed, *row.failed)}
                        ),
                    )
                )
                or "none",
            )
            for room in rooms
            for case, parameters in room.parameters.items()
        ),
    )


def _gates(matrix: Matrix) -> Table:
    return Table(
        headers=("benchmark", "reference", "output", "tolerance"),
        rows=tuple(
            (
                benchmark.name,
                benchmark.reference.name,
                output.file,
                _tolerance(output),
            )
            for benchmark in matrix.benchmarks.values()
            for output in benchmark.gate.outputs
        ),
    )


def _tolerance(output: OutputCheck) -> str:
    if output.rms is not None:
        return f"root mean square of the differences over that of the reference {output.rms:g}"
    if output.scaled is None:
        return f"rtol {output.rtol:g}, atol {output.atol:g}"
    parts = [f"largest difference over largest magnitude {output.scaled:g}"]
    parts += [f"{name} {bound:g}" for name, bound in output.tensors.items()]
    parts += [] if output.drift is None else [f"after.* {output.drift:g} x the reference's own"]
    return ", ".join(parts)


def _equivalence(matrix: Matrix) -> Table:
    return Table(
        headers=("benchmark", "case", "margin", "a seed's return lies between", "planned deviation", "seeds"),
        rows=tuple(
            (
                benchmark.name,
                case,
                f"± {rule.margin:g}",
                f"{rule.worst:g} and {rule.best:g}",
                f"{rule.deviation:g}",
                str(rule.seeds),
            )
            for benchmark in matrix.benchmarks.values()
            if benchmark.returns
            for case, rule in benchmark.returns.equivalence.items()
        ),
    )


def _coverage() -> Table:
    return Table(
        headers=("model", "n", "figure", "ratio", "expanded: figure", "expanded: ratio"),
        rows=tuple(
            (
                each.model,
                str(each.n),
                *(
                    f"{share:.1%}"
                    for share in (each.figure, each.ratio, each.expanded_figure, each.expanded_ratio)
                ),
            )
            for each in coverage.kept()
        ),
        right=frozenset({"n", "figure", "ratio", "expanded: figure", "expanded: ratio"}),
    )


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else units.size(value)


def _caches(value: Mapping[str, str] | None) -> str:
    """Each cache's name and size; of cores that differ, ``L2 128K and 512K``."""
    if not value:
        return UNKNOWN
    return ", ".join(f"{name} {text.replace(', ', ' and ')}" for name, text in sorted(value.items()))
