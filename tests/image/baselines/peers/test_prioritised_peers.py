"""The peers' rings against plain formulas. Needs their packages: runs inside the image `peers`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks.prioritised import Parameters, course
from baselines.inputs.transitions import made
from baselines.peers import prioritised_flashbax, prioritised_rlox, prioritised_sb3


@pytest.mark.parametrize(
    ("module", "prioritised", "steps"),
    [(prioritised_flashbax, True, 1), (prioritised_rlox, True, 1), (prioritised_sb3, False, 3)],
)
def test_what_it_draws_passes_every_part_of_the_gate(
    tmp_path: Path, module: Any, prioritised: bool, steps: int
) -> None:
    sizes = Parameters(
        capacity=500,
        observation=4,
        batch=32,
        prioritised=prioritised,
        steps=steps,
        calls=256,
        warmup=0,
        repetitions=1,
    )
    tape, sampler = made(500, 4, 42), module.Sampler(sizes)
    sampler.fill(tape)
    operation = course(sampler, tape, sizes)
    digests = []
    for _ in range(2):
        _, inputs, outputs = operation.timed(f"{1:016x}", 0)
        digests.append([field.tobytes() for field in operation.digested(outputs)])
    assert digests[0] == digests[1]
    operation.write(inputs, outputs, tmp_path)
    assert np.load(tmp_path / "members.npy").tolist() == [32] * 256
    assert np.load(tmp_path / "differences.npy").max() < 1e-6
    assert np.abs(np.load(tmp_path / "shares.npy")).max() < 5


def test_no_draw_of_flashbax_ends_beyond_the_last_row() -> None:
    sizes = Parameters(
        capacity=100_000,
        observation=4,
        batch=32,
        prioritised=True,
        steps=1,
        calls=1,
        warmup=0,
        repetitions=1,
    )
    sampler = prioritised_flashbax.Sampler(sizes)
    sampler.fill(made(100_000, 4, 42))
    nodes, depth = np.asarray(sampler._tree.nodes), sampler._tree.tree_depth
    # The way down of the largest number that is drawn.
    left, leaf = np.nextafter(np.float32(1), np.float32(0)) * nodes[0], 0
    for level in range(1, depth + 1):
        of_left = nodes[2**level - 1 + 2 * leaf]
        left, leaf = (left, 2 * leaf) if left < of_left else (left - of_left, 2 * leaf + 1)
    assert leaf == 99_999
