"""The work behind a record: what is needed to run its cell again without the matrix that it came from.

``work_of`` writes it into a record, ``cell_of`` makes a cell of it again: one is the other's inverse, and the content
key of the cell that comes back is the key of the record.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runner.matrix import (
    Benchmark,
    Case,
    Determinism,
    Gate,
    Implementation,
    Instructions,
    Kind,
    Limits,
    OutputCheck,
    Platform,
)
from runner.matrix.expressions import ExpressionError, evaluate
from runner.matrix.images import CORE, OURS, ImageTarget
from runner.matrix.toolchain import ARCHITECTURES, Toolchain
from runner.planning.cells import Cell
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.system.errors import StoreError


@dataclass(frozen=True, kw_only=True)
class Work:
    """A record's cell, the cell that its gate compared with, and the images that the two ran in."""

    cell: Cell
    reference: Cell
    image: ImageFacts
    core: ImageFacts
    deadline_seconds: float


def work_of(cell: Cell, *, reference_seed: int, core: ImageFacts) -> dict[str, Any]:
    """What a record holds as ``work``.

    Args:
        cell: the record's.
        reference_seed: the seed of the reference's cell whose outputs the gate compared with.
        core: the image that made the inputs and ran the reference.
    """
    benchmark = cell.benchmark
    image = cell.implementation.image
    toolchain = asdict(cell.toolchain)
    del toolchain["name"]
    return {
        "kind": benchmark.kind.value,
        "headline": benchmark.headline,
        "inputs": {
            "command": list(benchmark.inputs),
            # All of the benchmark's: the generator is started once for all of them.
            "cases": {case.name: dict(case.parameters) for case in benchmark.cases.values()},
        },
        "counts": dict(benchmark.counts),
        "gate": benchmark.gate.facts(),
        "reference": {
            "implementation": benchmark.reference.name,
            "command": list(benchmark.reference.command),
            "determinism": benchmark.reference.determinism.value,
            "seed": reference_seed,
        },
        "toolchain": toolchain,
        "limits": cell.limits.facts(),
        # The image that the matrix asks for; without Docker it is not the one that is run in.
        "target": image.name,
        "core": asdict(core),
        **({"versions": list(image.versions)} if image.name not in OURS and image.versions else {}),
        **({"differs": list(cell.implementation.differs)} if cell.implementation.differs else {}),
    }


def lacks(record: Record) -> str | None:
    """What an older record does not say, so that its cell cannot be run again; None where nothing is lacking."""
    if "work" in record.data:
        return None
    return (
        f"a record of schema {record.data['schema']} does not say how its inputs are made, what its gate "
        "compares and what its reference runs"
    )


def load_work(record: Record) -> Work:
    """The work of a record that lacks nothing and is valid by its schema.

    Raises:
        StoreError: what it says does not fit together, so that nothing can be run.
    """
    try:
        return _load(record)
    except (KeyError, TypeError, ValueError, ExpressionError) as error:
        raise StoreError(
            what=f"record {record.identifier} cannot be run again",
            why=f"its work does not fit together: {error!r}",
            fix="verify it with the version of forge-bench that wrote it",
        ) from error


def _load(record: Record) -> Work:
    data, work = record.data, record.data["work"]
    names, image = data["cell"], ImageFacts(**data["image"])
    if image.architecture not in ARCHITECTURES:
        raise ValueError(f"no architecture {image.architecture}")
    said = work["reference"]
    reference = _implementation(
        said["implementation"], said["command"], CORE, said["determinism"], reference=True
    )
    own = reference
    if names["implementation"] != reference.name:
        own = _implementation(
            names["implementation"],
            data["command"],
            _target(work),
            data["determinism"],
            differs=tuple(work.get("differs", ())),
        )
    elif list(reference.command) != data["command"]:
        raise ValueError("two commands for the reference")
    benchmark = _benchmark(names["benchmark"], work, {each.name: each for each in (reference, own)})
    for text in benchmark.counts.values():
        evaluate(text, data["parameters"])
    cell = Cell(
        benchmark=benchmark,
        case=benchmark.cases[names["case"]],
        implementation=own,
        toolchain=Toolchain(name=names["toolchain"], **work["toolchain"]),
        platform=Platform(name=names["platform"], architecture=image.architecture),
        limits=_limits(names["limits"], work["limits"]),
        seed=names["seed"],
        parameters=data["parameters"],
    )
    return Work(
        cell=cell,
        reference=Cell(**{**vars(cell), "implementation": reference, "seed": work["reference"]["seed"]}),
        image=image,
        core=ImageFacts(**work["core"]),
        deadline_seconds=data["launch"]["deadline_seconds"],
    )


def _target(work: Mapping[str, Any]) -> ImageTarget:
    """Our target of that name, or somebody else's as the record describes it. Its image is given and never built."""
    name = work["target"]
    versions = tuple(work["versions"]) if "versions" in work else None
    return OURS.get(name) or ImageTarget(name=name, source=None, versions=versions)


def _limits(name: str, said: Mapping[str, Any]) -> Limits:
    cap = {"instructions": Instructions(said["instructions"])} if "instructions" in said else {}
    return Limits(name=name, **{**said, **cap})


def _benchmark(
    name: str, work: Mapping[str, Any], implementations: Mapping[str, Implementation]
) -> Benchmark:
    return Benchmark(
        name=name,
        title=name,
        kind=Kind(work["kind"]),
        headline=work["headline"],
        inputs=tuple(work["inputs"]["command"]),
        counts=work["counts"],
        gate=Gate(
            outputs=tuple(OutputCheck(**output) for output in work["gate"]["outputs"]),
            episodes=work["gate"]["episodes"],
        ),
        returns=None,
        cases={
            case: Case(name=case, parameters=parameters)
            for case, parameters in work["inputs"]["cases"].items()
        },
        sizes={},
        implementations=implementations,
    )


def _implementation(
    name: str,
    command: list[str],
    image: ImageTarget,
    determinism: str,
    *,
    reference: bool = False,
    differs: tuple[str, ...] = (),
) -> Implementation:
    return Implementation(
        name=name,
        command=tuple(command),
        image=image,
        platforms=None,
        without={},
        reference=reference,
        determinism=Determinism(determinism),
        differs=differs,
    )
