"""The peers' rings against the reference's. Needs their packages: runs inside the image `peers`."""

from typing import Any

import numpy as np
import pytest

from baselines.benchmarks.buffer_push import transition_sums
from baselines.benchmarks.buffer_sample import Parameters, membership, stacked
from baselines.inputs.transitions import Fields, made
from baselines.peers import buffer_flashbax, buffer_rlox, buffer_sb3, buffer_torchrl


@pytest.mark.parametrize("module", [buffer_flashbax, buffer_rlox, buffer_sb3, buffer_torchrl])
def test_a_ring_keeps_what_was_pushed_last(module: Any) -> None:
    tape, ring = made(30, 4, 1), module.Ring(20, 4)
    for row in range(30):
        ring.push(*ring.laid_out(Fields(*(field[row : row + 1] for field in tape))))
    wanted = transition_sums(Fields(*(np.concatenate([field[20:], field[10:20]]) for field in tape)))
    assert transition_sums(ring.read(slice(0, 20))).tolist() == wanted.tolist()


@pytest.mark.parametrize("module", [buffer_flashbax, buffer_rlox, buffer_sb3, buffer_torchrl])
def test_what_it_draws_is_of_the_tape_and_a_seed_repeats_it(module: Any) -> None:
    tape, ring = made(64, 4, 1), module.Ring(64, 4)
    ring.fill(tape)
    sizes = Parameters(capacity=64, observation=4, batch=32, calls=10, warmup=0, repetitions=1)
    found = []
    for _ in range(2):
        ring.seed(7)
        batches = [ring.sample(32, seed) for seed in range(10)]
        found.append(membership(stacked(ring.gathered(batches), sizes), tape))
    assert found[0].min() >= 0
    assert len(set(found[0].reshape(-1).tolist())) > 50
    assert np.array_equal(*found)


def test_a_push_of_flashbax_is_done_when_it_returns_and_takes_the_place_of_the_ring() -> None:
    tape, ring = made(30, 4, 1), buffer_flashbax.Ring(20, 4)
    (row,) = ring.laid_out(Fields(*(field[:1] for field in tape)))
    ring.push(row)
    before = ring.read(slice(0, 20)).observations.ctypes.data
    ring.push(row)
    assert ring.read(slice(0, 20)).observations.ctypes.data == before


def test_rlox_is_read_back_in_the_order_of_its_rows_and_a_few_rows_at_a_time() -> None:
    tape, ring = made(700, 4, 1), buffer_rlox.Ring(500, 4)
    for row in range(700):
        ring.push(*ring.laid_out(Fields(*(field[row : row + 1] for field in tape))))
    assert ring.read(slice(190, 210)).rewards.tolist() == [*range(690, 700), *range(200, 210)]
    places, kept = ring.some(3)
    assert len(set(places.tolist())) > 100
    assert kept.rewards.tolist() == [place + 500 if place < 200 else place for place in places]
