"""The peers' rings against plain formulas. Needs their packages: runs inside the image `peers`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks.prioritised import Parameters, course
from baselines.inputs.transitions import made
from baselines.peers import prioritised_rlox, prioritised_sb3


@pytest.mark.parametrize(
    ("module", "prioritised", "steps"), [(prioritised_rlox, True, 1), (prioritised_sb3, False, 3)]
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
