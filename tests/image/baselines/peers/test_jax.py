"""The trainings in JAX do the reference's work, in Gymnasium's environments. Needs JAX: runs inside the image `peers`."""

import math
import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest
import torch
from jax import lax

from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog, arrays_of
from baselines.benchmarks.replay import played, spans
from baselines.benchmarks.training_in_pytorch import PYTORCH, array_of
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.peers import dqn_jax, ppo_jax, sac_jax
from baselines.peers import environments_jax as environments
from baselines.references import dqn, ppo, sac

STEPS = int(os.environ.get("ENVIRONMENT_STEPS", "100000"))
MODULES = {"dqn": dqn_jax, "ppo": ppo_jax, "sac": sac_jax}
REFERENCES: dict[str, Any] = {"dqn": dqn, "ppo": ppo, "sac": sac}
CASES: dict[str, dict[str, object]] = {
    "dqn": {"environment": "CartPole-v1", "steps": 1605, "learning_starts": 490, "train_frequency": 10},
    "ppo": {
        "environment": "CartPole-v1",
        "environments": 4,
        "rollout_steps": 128,
        "minibatches": 4,
        "epochs": 4,
        "iterations": 2,
    },
    "sac": {"environment": "Pendulum-v1", "steps": 421, "learning_starts": 400, "batch": 32, "hidden": 64},
}
INPUTS: dict[str, Callable[[], dict[str, Any]]] = {
    "dqn": lambda: dqn_arrays("CartPole-v1", 42),
    "ppo": lambda: ppo_arrays(42),
    "sac": lambda: sac_arrays(42),
}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def in_numpy(tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    return {name: array_of(each) for name, each in tensors.items()}


def trained(module: ModuleType, algorithm: str, seed: int) -> training.Trained:
    training.seed_generators(seed, PYTORCH)
    parameters = REFERENCES[algorithm].Parameters(parity_updates=1, **CASES[algorithm])
    result: training.Trained = module.train(parameters, seed)
    return result


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_an_environment_in_jax_is_gymnasiums_to_the_bit(name: str) -> None:
    game, environment = environments.Game(name), gym.make(name)
    random = np.random.default_rng(7)
    if isinstance(game.space, gym.spaces.Discrete):
        actions = random.integers(0, game.space.n, STEPS)
    else:
        # A third of them lies beyond the bounds.
        actions = random.uniform(1.5 * game.space.low, 1.5 * game.space.high, (STEPS, 1)).astype(np.float32)

    def play(generator: Any, actions: Any, numbers: Any) -> Any:
        def step(play: Any, action: Any) -> Any:
            play, seen = game.advance(play, action, numbers)
            return play, (seen, play.state)

        return lax.scan(step, game.begin(generator, numbers), actions)[1]

    found, states = jax.tree.map(np.asarray, jax.jit(play)(environments.seeded(3), actions, game.numbers()))
    environment.reset(seed=3)
    total, ends = 0.0, 0
    for index, action in enumerate(actions):
        observation, reward, terminated, truncated, _ = environment.step(action)
        total += float(reward)
        assert found.observation[index].tobytes() == observation.tobytes()
        assert (found.terminated[index], found.ended[index]) == (terminated, terminated or truncated)
        # Part of a cost of Pendulum is f32, whose last bit may differ.
        assert math.isclose(found.total[index], total, rel_tol=1e-9)
        if terminated or truncated:
            environment.reset()
            total, ends = 0.0, ends + 1
        state = environment.unwrapped.state  # type: ignore[attr-defined]  # both have one
        assert [each[index] for each in states] == list(state)
    assert ends > STEPS / 1000


@pytest.mark.parametrize("algorithm", MODULES)
def test_its_updates_are_the_references(algorithm: str) -> None:
    given = INPUTS[algorithm]()
    tensors = {name: torch.from_numpy(each) for name, each in given.items()}
    wanted = in_numpy(REFERENCES[algorithm].parity(tensors, 4))
    found = MODULES[algorithm].parity(given, 4)
    assert found.keys() == {name for name in wanted if not name.startswith("exact.")}
    for name, each in found.items():
        reference = wanted[name]
        assert (each.size, each.dtype) == (reference.size, reference.dtype), name
        scale = np.abs(reference).max()
        assert np.abs(each.reshape(reference.shape) - reference).max() <= 1e-4 * scale, name


@pytest.mark.parametrize("algorithm", MODULES)
def test_its_trace_is_the_references(algorithm: str) -> None:
    found = trained(MODULES[algorithm], algorithm, 1)
    wanted = trained(REFERENCES[algorithm], algorithm, 1)
    assert found.trace.keys() == wanted.trace.keys()
    for name, each in in_numpy(wanted.trace).items():
        if name.startswith("initial."):
            # Of the first weights only what does not hang on the draw.
            tolerance = 0.1 if name.endswith(".bound") else 1e-5
            assert np.allclose(found.trace[name], each, rtol=tolerance, atol=1e-5), name
        else:
            assert found.trace[name].dtype == each.dtype
            assert np.array_equal(found.trace[name], each), name
    assert found.weights.keys() == wanted.weights.keys()
    assert {name: each.shape for name, each in found.weights.items()} == {
        name: each.shape for name, each in wanted.weights.items()
    }


@pytest.mark.parametrize("algorithm", MODULES)
def test_gymnasium_plays_the_episodes_that_a_log_tells(algorithm: str) -> None:
    found = trained(MODULES[algorithm], algorithm, 5)
    log = arrays_of(found.logs)
    assert [log[f"{index}.seeds"][0] for index in range(len(found.logs))] == [
        5 + index for index in range(len(found.logs))
    ]
    environment = str(CASES[algorithm]["environment"])
    again = (played(environment, log, span, len(found.logs)) for span in spans(log) if span.steps)
    ended = sorted(each for each in again if each is not None)
    assert [each[:2] for each in ended] == [each[:2] for each in found.episodes]
    assert [each[2] for each in ended] == pytest.approx([each.value for each in found.episodes])


@pytest.mark.parametrize("algorithm", MODULES)
def test_a_seed_decides_the_whole_training(algorithm: str) -> None:
    one, same, other = (trained(MODULES[algorithm], algorithm, seed) for seed in (1, 1, 2))
    assert one.episodes == same.episodes != other.episodes
    for name, each in one.weights.items():
        assert np.array_equal(each, same.weights[name]), name
        if each.ndim > 1:
            assert not np.array_equal(each, other.weights[name]), name


def test_a_frequency_that_does_not_divide_that_of_copies_is_refused() -> None:
    parameters = dqn_jax.work.Parameters(parity_updates=1, **CASES["dqn"] | {"train_frequency": 7})
    with pytest.raises(SystemExit, match="2"):
        dqn_jax.train(parameters, 1)


def test_a_log_of_arrays_is_that_of_the_steps() -> None:
    space, actions = gym.spaces.Discrete(2), np.array([0, 1, 1, 0, 1])
    noted = ActionLog(space)
    noted.reset(4)
    for index, action in enumerate(actions):
        noted.step(action)
        if index in (1, 4):
            noted.reset(None)
    wanted, found = noted.arrays(0), ActionLog.of(space, actions, [2, 5], 4).arrays(0)
    assert found.keys() == wanted.keys()
    for name, each in wanted.items():
        assert (found[name].dtype, found[name].tolist()) == (each.dtype, each.tolist())
