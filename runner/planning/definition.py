"""The definition of a cell's work: what a matrix says of an implementation in a benchmark.

A matrix has the definition of each of its cells, and so has a record, which holds its work. Two cells of one definition
do the same work and pass the same gate.
"""

from typing import Any

from runner.matrix.images import OURS
from runner.planning.cells import Cell


def definition_of(cell: Cell) -> dict[str, Any]:
    """The definition, as plain data.

    Sizes of a profile, limits, toolchain, platform and seed are no part of it: one definition is measured under many.
    """
    benchmark, own, reference = cell.benchmark, cell.implementation, cell.benchmark.reference
    image = own.image
    return {
        "benchmark": benchmark.name,
        "implementation": own.name,
        "command": list(own.command),
        "determinism": own.determinism.value,
        "differs": list(own.differs),
        "image": {"target": image.name, "versions": None if image.name in OURS else _words(image.versions)},
        "kind": benchmark.kind.value,
        "headline": benchmark.headline,
        "inputs": list(benchmark.inputs),
        "cases": {case.name: dict(case.parameters) for case in benchmark.cases.values()},
        "counts": dict(benchmark.counts),
        "gate": benchmark.gate.facts(),
        "refereed": benchmark.refereed,
        "reference": {
            "implementation": reference.name,
            "command": list(reference.command),
            "determinism": reference.determinism.value,
        },
    }


def _words(command: tuple[str, ...] | None) -> list[str] | None:
    return list(command) if command else None
