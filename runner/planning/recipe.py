"""The work of a record: all that is needed to run its cell again without its matrix.

``work_of`` writes the work into a record, and ``load_work`` makes a cell from it. The content key of the made cell is the
key of the record, except where a native reference judged an emulated cell: the made cell has its reference beside it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from msgspec import UNSET, UnsetType

from runner.matrix import (
    Benchmark,
    Case,
    Determinism,
    Gate,
    Implementation,
    Limits,
    OutputCheck,
    Platform,
    Replay,
)
from runner.matrix.expressions import ExpressionError, evaluate
from runner.matrix.images import CORE, OURS, ImageTarget
from runner.matrix.toolchain import ARCHITECTURES, Toolchain
from runner.planning.cells import Cell
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.work import (
    WorkFacts,
    WorkGate,
    WorkInputs,
    WorkLimits,
    WorkOutput,
    WorkReference,
    WorkReplay,
)
from runner.system.errors import StoreError


@dataclass(frozen=True, kw_only=True)
class Work:
    """A record's cell, the reference's cell that its gate compared with, and the images of both."""

    cell: Cell
    reference: Cell
    image: ImageFacts
    core: ImageFacts


def work_of(cell: Cell, *, reference_seed: int, core: ImageFacts) -> WorkFacts:
    """The ``work`` of a record.

    Args:
        cell: the record's.
        reference_seed: the seed of the reference's cell whose outputs the gate compared with.
        core: the image that made the inputs.
    """
    benchmark, limits = cell.benchmark, cell.limits
    image = cell.implementation.image
    toolchain = asdict(cell.toolchain)
    del toolchain["name"]
    return WorkFacts(
        kind=benchmark.kind,
        headline=benchmark.headline,
        inputs=WorkInputs(
            command=tuple(benchmark.inputs),
            # All cases of the benchmark, because the generator is started once for all.
            cases={case.name: dict(case.parameters) for case in benchmark.cases.values()},
        ),
        counts=dict(benchmark.counts),
        gate=WorkGate(
            outputs=tuple(_output(each) for each in benchmark.gate.outputs),
            episodes=benchmark.gate.episodes,
            digest=dict(benchmark.gate.digest) or UNSET,
            replay=_replay(benchmark.gate.replay),
        ),
        reference=WorkReference(
            implementation=benchmark.reference.name,
            command=benchmark.reference.command,
            determinism=benchmark.reference.determinism,
            seed=reference_seed,
            platform=UNSET if cell.reference_platform is None else cell.reference_platform.name,
        ),
        toolchain=toolchain,
        limits=WorkLimits(
            cpus=limits.cpus,
            memory_bytes=limits.memory_bytes,
            pids=limits.pids,
            threads=limits.threads,
            instructions=UNSET if limits.instructions is None else limits.instructions,
        ),
        # The image that the matrix asks for. Without Docker the launch runs elsewhere.
        target=image.name,
        core=core,
        versions=UNSET if image.name in OURS or not image.versions else image.versions,
        refereed=True if benchmark.refereed else UNSET,
        differs=cell.implementation.differs or UNSET,
    )


def _replay(replay: Replay | None) -> WorkReplay | UnsetType:
    return UNSET if replay is None else WorkReplay(actions=replay.actions, weights=replay.weights)


def _output(rule: OutputCheck) -> WorkOutput:
    return WorkOutput(
        file=rule.file,
        rtol=rule.rtol,
        atol=rule.atol,
        scaled=rule.scaled,
        tensors=dict(rule.tensors),
        drift=UNSET if rule.drift is None else rule.drift,
        rms=UNSET if rule.rms is None else rule.rms,
    )


def lacks(record: Record) -> str | None:
    """The facts that an older record lacks, so that its cell cannot be run again; None where it lacks none."""
    if record.work is not UNSET:
        return None
    return (
        f"a record of schema {record.schema} does not say how its inputs are made, what its gate "
        "compares and what its reference runs"
    )


def load_work(record: Record) -> Work:
    """The work of a record that holds all facts.

    Raises:
        StoreError: the facts contradict each other, so the cell cannot be run.
    """
    try:
        return _load(record, _stated(record))
    except (KeyError, TypeError, ValueError, ExpressionError) as error:
        raise StoreError(
            what=f"record {record.identifier} cannot be run again",
            why=f"its work does not fit together: {error!r}",
            fix="verify it with the version of forge-bench that wrote it",
        ) from error


def _stated(record: Record) -> WorkFacts:
    if isinstance(record.work, UnsetType):
        raise TypeError(lacks(record))
    return record.work


def _load(record: Record, work: WorkFacts) -> Work:
    names, image = record.cell, record.image
    if image.architecture not in ARCHITECTURES:
        raise ValueError(f"no architecture {image.architecture}")
    said = work.reference
    reference = _implementation(said.implementation, said.command, CORE, said.determinism, reference=True)
    own = reference
    if names.implementation != reference.name:
        own = _implementation(
            names.implementation, record.command, _target(work), record.determinism, differs=record.differs
        )
    elif reference.command != record.command:
        raise ValueError("two commands for the reference")
    benchmark = _benchmark(names.benchmark, work, {each.name: each for each in (reference, own)})
    for text in benchmark.counts.values():
        evaluate(text, record.parameters)
    cell = Cell(
        benchmark=benchmark,
        case=benchmark.cases[names.case],
        implementation=own,
        # A toolchain has no such pin.
        toolchain=Toolchain(name=names.toolchain, **work.toolchain),  # type: ignore[arg-type]  # a pin may be null
        platform=Platform(name=names.platform, architecture=image.architecture),
        limits=_limits(names.limits, work.limits),
        seed=names.seed,
        parameters=record.parameters,
    )
    return Work(
        cell=cell,
        reference=replace(cell, implementation=reference, seed=said.seed),
        image=image,
        core=work.core,
    )


def _target(work: WorkFacts) -> ImageTarget:
    """Our target of that name, or a competitor's as the record describes it. Its image is given and never built."""
    versions = None if isinstance(work.versions, UnsetType) else work.versions
    return OURS.get(work.target) or ImageTarget(name=work.target, source=None, versions=versions)


def _limits(name: str, said: WorkLimits) -> Limits:
    return Limits(
        name=name,
        cpus=said.cpus,
        memory_bytes=said.memory_bytes,
        pids=said.pids,
        threads=said.threads,
        instructions=said.instructions or None,
    )


def _benchmark(name: str, work: WorkFacts, implementations: Mapping[str, Implementation]) -> Benchmark:
    return Benchmark(
        name=name,
        title=name,
        kind=work.kind,
        headline=work.headline,
        inputs=work.inputs.command,
        counts=work.counts,
        gate=Gate(
            outputs=tuple(OutputCheck(**output.plain()) for output in work.gate.outputs),
            episodes=work.gate.episodes,
            digest=work.gate.digest or {},
            replay=Replay(**work.gate.replay.plain()) if work.gate.replay else None,
        ),
        returns=None,
        cases={
            case: Case(name=case, parameters=parameters) for case, parameters in work.inputs.cases.items()
        },
        sizes={},
        refereed=work.refereed is True,
        implementations=implementations,
    )


def _implementation(
    name: str,
    command: tuple[str, ...],
    image: ImageTarget,
    determinism: Determinism,
    *,
    reference: bool = False,
    differs: tuple[str, ...] = (),
) -> Implementation:
    return Implementation(
        name=name,
        command=command,
        image=image,
        platforms=None,
        without={},
        reference=reference,
        determinism=determinism,
        differs=differs,
    )
