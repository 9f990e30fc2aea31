"""The peers' sequences: consecutive steps of the tape. Needs their packages: runs inside the image `peers`."""

from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import buffer_sample, sequences
from baselines.inputs.transitions import made
from baselines.peers import sequences_flashbax, sequences_rlox, sequences_torchrl

SIZES = sequences.Parameters(
    capacity=500,
    observation=4,
    sequences=8,
    length=5,
    episode=12,
    calls=256,
    warmup=0,
    repetitions=1,
)


@pytest.mark.parametrize(
    ("module", "within_episodes"),
    [(sequences_flashbax, False), (sequences_torchrl, True), (sequences_rlox, True)],
)
def test_what_it_draws_are_consecutive_steps_anywhere_in_the_ring(module: Any, within_episodes: bool) -> None:
    tape, sampler = made(500, 4, 42, 12), module.Sampler(SIZES)
    sampler.fill(tape)
    operation = sequences.course(sampler, tape, SIZES)
    draws, digests = [], []
    for _ in range(2):
        _, _, outputs = operation.timed(f"{1:016x}", 0)
        digests.append([field.tobytes() for field in operation.digested(outputs)])
        draws.append(sequences.stacked(sampler.gathered(outputs.calls), SIZES))
    assert digests[0] == digests[1]
    rows = buffer_sample.membership(draws[0], tape)
    # Flashbax goes on from the newest row to the oldest one.
    assert ((rows - rows[..., :1]) % 500 == np.arange(5)).all()
    first = rows[..., 0]
    if within_episodes:
        assert (sequences.first_rows(draws[0], tape, SIZES) == first).all()
    possible = sequences.starts(tape, 5)
    assert len(set(first.reshape(-1).tolist())) > 0.9 * len(possible)
