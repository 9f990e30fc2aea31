"""The key that the input files of a benchmark are kept under."""

from typing import Any

from runner.planning.cells import Cell
from runner.records.record import content_hash


def inputs_key(cell: Cell, *, execution_hash: str, executor: str) -> str:
    """The key of the input files of a cell's benchmark, made by an image of this hash."""
    return content_hash(
        {
            "command": cell.benchmark.inputs,
            "cases": generated_cases(cell),
            "execution_hash": execution_hash,
            "architecture": cell.platform.architecture,
            "executor": executor,
        }
    )


def generated_cases(cell: Cell) -> list[tuple[str, dict[str, Any]]]:
    """Every case of the cell's benchmark with its parameters. The generator is started once for all cases."""
    return [(case.name, dict(case.parameters)) for case in cell.benchmark.cases.values()]
