"""The networks in JAX step and act as the references'. Needs JAX: runs inside the image `peers`."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from baselines.benchmarks import act, nn_act, update
from baselines.benchmarks.library import Library
from baselines.benchmarks.training_in_pytorch import TENSORS
from baselines.contract.numbers import numbers
from baselines.contract.operation import calling
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.peers import act_jax, multiply_jax, nn_act_jax, update_jax
from baselines.peers.library_jax import JAX
from baselines.references import act as act_reference
from baselines.references import nn_act as nn_act_reference
from baselines.references import update as update_reference

Arrays = Mapping[str, NDArray[Any]]

STEPS: dict[str, Callable[[], Arrays]] = {
    "dqn": lambda: dqn_arrays("CartPole-v1", 42, (64, 64), 16),
    "ppo": lambda: ppo_arrays(42, 16),
    "critics": lambda: sac_arrays(42, 32, 5, 2, 16),
}
ACTING = {"dqn": ("dqn", 8), "ppo": ("ppo", 8), "sac": ("critics", 1)}
NONCE = "00000000000000aa"


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def apart(found: Arrays, wanted: Arrays) -> dict[str, float]:
    """The largest difference over the largest magnitude, for each array of the reference."""
    return {
        name: float(np.abs(found[name].reshape(each.shape) - each).max() / np.abs(each).max())
        for name, each in wanted.items()
    }


def learnt(way: update.Way, library: Library, given: Arrays, repetition: int) -> dict[str, NDArray[Any]]:
    """What the timed updates of a repetition leave."""
    drawn = update.drawn_minibatches(given, numbers(NONCE, repetition * 4, 4))
    updates = way.start(library.laid_out(drawn))
    done = update.learning(update.Repetition(update.minibatches(drawn), updates))
    return library.arrays(done.parameters())


@pytest.mark.parametrize("kind", [update_jax.one_at_a_time, update_jax.scanned])
@pytest.mark.parametrize("algorithm", STEPS)
def test_the_timed_steps_are_the_references(
    algorithm: str, kind: Callable[[update_jax.Steps], update.Way]
) -> None:
    given, way = STEPS[algorithm](), kind(update_jax.STEPS[algorithm])
    reference = update_reference.WAYS[algorithm]
    # In the second repetition a program that took an array's place would have changed what is given.
    for repetition in range(2):
        found = learnt(way, JAX, given, repetition)
        wanted = learnt(reference, TENSORS, given, repetition)
        assert max(apart(found, wanted).values()) <= 1e-4


@pytest.mark.parametrize("kind", [update_jax.one_at_a_time, update_jax.scanned])
@pytest.mark.parametrize("algorithm", STEPS)
def test_its_parity_updates_are_the_references_and_leave_what_is_given(
    algorithm: str, kind: Callable[[update_jax.Steps], update.Way]
) -> None:
    given = STEPS[algorithm]()
    before = {name: each.copy() for name, each in given.items()}
    found = JAX.arrays(kind(update_jax.STEPS[algorithm]).parity(JAX.laid_out(given), 3))
    wanted = TENSORS.arrays(update_reference.WAYS[algorithm].parity(TENSORS.laid_out(given), 3))
    named = {name: each for name, each in wanted.items() if not name.startswith("exact.")}
    assert found.keys() == named.keys()
    assert max(apart(found, named).values()) <= 1e-4
    assert all(np.array_equal(given[name], each) for name, each in before.items())


@pytest.mark.parametrize("algorithm", ACTING)
def test_its_networks_say_what_the_references_say(algorithm: str) -> None:
    of, rows = ACTING[algorithm]
    given = STEPS[of]()
    read = {
        name: given[name].reshape(-1, given[name].shape[-1])[: 20 * rows].reshape(20, rows, -1)
        for name in ("observations", "noise.next")
        if name in given
    }
    observations = read["observations"]
    asked = nn_act.seen(observations, read.get("noise.next", observations), numbers(NONCE, 0, 20))
    calls = {"dqn": nn_act_jax.dqn_call, "ppo": nn_act_jax.ppo_call, "sac": nn_act_jax.sac_call}
    answers = zip(*calling(calls[algorithm](given))(asked), strict=True)
    reference = nn_act_reference.WAYS[algorithm](TENSORS.laid_out(given))
    wanted = zip(*calling(reference)(asked), strict=True)
    for found, expected in zip(answers, wanted, strict=True):
        one, other = JAX.gathered(found), TENSORS.gathered(expected)
        assert np.abs(one - other).max() <= 1e-5 * np.abs(other).max()


def test_its_values_of_one_observation_are_the_references() -> None:
    given = STEPS["dqn"]()
    asked = act.observations(given["observations"].reshape(-1, 4)[:20], numbers(NONCE, 0, 20))
    found = JAX.gathered(calling(act_jax.prepare(given))(asked))
    wanted = TENSORS.gathered(calling(act_reference.prepare(TENSORS.laid_out(given)))(asked))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_product_of_matrices_is_numpys() -> None:
    left, right = np.random.default_rng(1).standard_normal((2, 24 * 24)).astype(np.float32)
    found = np.asarray(multiply_jax.multiply(24)([left, right]))
    np.testing.assert_allclose(found, left.reshape(24, 24) @ right.reshape(24, 24), rtol=1e-5, atol=1e-5)
