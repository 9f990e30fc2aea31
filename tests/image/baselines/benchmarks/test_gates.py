"""The gates of operations: the reference's own outputs pass, and outputs that are a thousandth off do not.

Needs torch and Gymnasium: runs inside the image.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import baselines
from runner.gate.arrays import Array
from runner.gate.outputs import compare, read_output
from runner.matrix import Benchmark, load_matrix

ROOT = Path(baselines.__file__).parents[1]
MATRIX = load_matrix(ROOT / "matrix.yaml")
# Those whose outputs are numbers that a kernel computes. Wrong layers of networks are in test_operations.py. Buffers and
# files hand out given rows, which are compared bit by bit.
OPERATIONS = (
    "gae",
    "grpo",
    "token-kl",
    "ffi",
    "ffi-from-rust",
    "calls",
    "env-single",
    "env-vector",
    "rollout",
    "act",
    "update",
    "multiply",
)
SEED = 42


@pytest.fixture(scope="module", params=OPERATIONS)
def operation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Benchmark, Path]:
    """A benchmark, and the folder with the reference's outputs of each case of its smoke profile."""
    benchmark = MATRIX.benchmarks[request.param]
    inputs, outputs = (tmp_path_factory.mktemp(f"{request.param}-{name}") for name in ("inputs", "outputs"))
    reference = next(each for each in benchmark.implementations.values() if each.reference)
    run(benchmark, benchmark.inputs, "--output", inputs)
    run(benchmark, reference.command, "--input", inputs, "--output", outputs)
    return benchmark, outputs


def cases_of(benchmark: Benchmark) -> list[str]:
    """Those of its smoke profile."""
    longer = benchmark.left_to_longer("smoke", emulated=False)
    return [name for name in benchmark.cases if name not in longer]


def run(benchmark: Benchmark, command: tuple[str, ...], *places: str | Path) -> None:
    """A program of the matrix by hand, with the sizes of the smoke profile."""
    sizes = benchmark.sizes["smoke"].of(emulated=False)
    cases = [
        part
        for name in cases_of(benchmark)
        for part in (
            "--case",
            name,
            "--parameters",
            json.dumps({**benchmark.cases[name].parameters, **sizes}),
        )
    ]
    words = [sys.executable, *command[1:], *cases, "--seed", str(SEED), *map(str, places)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def failed(benchmark: Benchmark, folder: Path, factor: float) -> Mapping[str, list[str]]:
    """By the name of a case, what its gate refuses where every number of the reference is multiplied by a factor."""
    return {
        case: [
            check.check
            for output in benchmark.gate.outputs
            for theirs in (read_output(folder / case / output.file),)
            for check in compare(
                output, {name: scaled(array, factor) for name, array in theirs.items()}, theirs
            )
            if not check.passed
        ]
        for case in cases_of(benchmark)
    }


def scaled(array: Array, factor: float) -> Array:
    """Whole numbers and flags stay."""
    return (array * factor).astype(array.dtype) if np.issubdtype(array.dtype, np.floating) else array


def test_the_gate_passes_the_very_numbers_of_the_reference(operation: tuple[Benchmark, Path]) -> None:
    """So that the test below fails for no other reason."""
    benchmark, folder = operation
    assert failed(benchmark, folder, 1.0) == {case: [] for case in cases_of(benchmark)}


def test_the_gate_refuses_what_is_a_thousandth_larger(operation: tuple[Benchmark, Path]) -> None:
    benchmark, folder = operation
    assert all(failed(benchmark, folder, 1.001).values()), (
        "a case passed with numbers that are a thousandth larger"
    )
