"""The module's sequences against the definition. Needs the module: runs inside the image."""

from pathlib import Path

import numpy as np

from baselines.benchmarks.sequences import Parameters, course
from baselines.inputs.transitions import made
from baselines.ours import sequences_torchforge


def test_what_it_draws_passes_every_part_of_the_gate(tmp_path: Path) -> None:
    sizes = Parameters(
        capacity=500,
        observation=4,
        sequences=8,
        length=5,
        episode=12,
        calls=256,
        warmup=0,
        repetitions=1,
    )
    tape, sampler = made(500, 4, 42, 12), sequences_torchforge.Sampler(sizes)
    sampler.fill(tape)
    operation = course(sampler, tape, sizes)
    digests = []
    for _ in range(2):
        _, inputs, outputs = operation.timed(f"{1:016x}", 0)
        digests.append([field.tobytes() for field in operation.digested(outputs)])
    assert digests[0] == digests[1]
    operation.write(inputs, outputs, tmp_path)
    assert np.load(tmp_path / "members.npy").tolist() == [8] * 256
    assert np.abs(np.load(tmp_path / "shares.npy")).max() < 5
