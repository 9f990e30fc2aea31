"""The module's environments beside the real Gymnasium, step by step, bit by bit: runs inside the image."""

import math
import os
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torchforge
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

ENVIRONMENTS = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")
# Of each environment alone, and of each in vectors over the three modes together.
# Fewer under emulation, where a step of Python takes twenty times as long.
STEPS = int(os.environ.get("ENVIRONMENT_STEPS", "100000"))
VECTOR = 4


def random_actions(space: gym.Space[Any], shape: tuple[int, ...], seed: int) -> Iterator[Any]:
    """Discrete actions as int64, or f32 ones of which a third lies beyond the bounds; without end."""
    rng = np.random.default_rng(seed)
    while True:
        if isinstance(space, Discrete):
            yield from rng.integers(space.n, size=(1000, *shape))
        else:
            assert isinstance(space, gym.spaces.Box)
            yield from rng.uniform(1.5 * space.low, 1.5 * space.high, (1000, *shape, 1)).astype(np.float32)


def swinging(actions: Iterator[Any], space: gym.Space[Any], velocity: Any, among: int) -> Any:
    """Every now and then at random, else with the movement: so that cars and acrobots reach their goals."""
    action = next(actions)
    if among % 4 == 0:
        return action
    forwards = np.asarray(velocity) > 0
    if isinstance(space, Discrete):
        return np.where(forwards, space.n - 1, 0).astype(np.int64)[()]
    return np.where(forwards, 1.0, -1.0).astype(np.float32).reshape(np.shape(action))


def same(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    return (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


def same_float(found: float, wanted: Any) -> bool:
    return found == float(wanted) and math.copysign(1.0, found) == math.copysign(1.0, float(wanted))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_single_environment_is_gymnasiums_to_the_bit(name: str) -> None:
    ours, theirs = torchforge.make(name), gym.make(name, disable_env_checker=True)
    actions = random_actions(theirs.action_space, (), seed=7)
    (observation, _), (wanted, _) = ours.reset(seed=1), theirs.reset(seed=1)
    assert same(observation, wanted)
    ends = {"terminated": 0, "truncated": 0}
    for step in range(STEPS):
        # Half of the time at random, half of the time with the movement.
        swings = step // 5000 % 2 == 1 and name != "CartPole-v1"
        action = swinging(actions, theirs.action_space, wanted[-1], step) if swings else next(actions)
        observation, reward, terminated, truncated, _ = ours.step(action)
        wanted, wanted_reward, *flags, _ = theirs.step(action)
        assert same(observation, wanted), (step, observation, wanted)
        assert same_float(reward, wanted_reward), (step, reward, wanted_reward)
        assert [terminated, truncated] == flags, step
        ends["terminated"] += terminated
        ends["truncated"] += truncated
        if terminated or truncated:
            seed = step if step % 3 == 0 else None
            (observation, _), (wanted, _) = ours.reset(seed=seed), theirs.reset(seed=seed)
            assert same(observation, wanted), step
    # Acting at random rarely reaches a goal: only many steps are sure to.
    assert ends["terminated"] > 0 or name == "Pendulum-v1" or STEPS < 100_000
    assert ends["truncated"] > 0 or name == "CartPole-v1" or STEPS < 100_000


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_together_are_gymnasiums_to_the_bit(name: str, mode: AutoresetMode) -> None:
    ours = torchforge.make_vec(name, VECTOR, autoreset_mode=mode.value)
    theirs = SyncVectorEnv([lambda: gym.make(name, disable_env_checker=True)] * VECTOR, autoreset_mode=mode)
    space = theirs.single_action_space
    actions = random_actions(space, (VECTOR,), seed=11)
    (observations, _), (wanted, _) = ours.reset(seed=5), theirs.reset(seed=5)
    assert same(observations, wanted)
    ended = 0
    for step in range(STEPS // VECTOR // len(AutoresetMode)):
        swings = step // 1500 % 2 == 1 and name != "CartPole-v1"
        action = swinging(actions, space, wanted[:, -1], step) if swings else next(actions)
        observations, rewards, terminations, truncations, info = ours.step(action)
        wanted, wanted_rewards, wanted_terminations, wanted_truncations, wanted_info = theirs.step(action)
        assert same(observations, wanted), (step, observations, wanted)
        assert same(rewards, wanted_rewards), (step, rewards, wanted_rewards)
        assert same(terminations, wanted_terminations)
        assert same(truncations, wanted_truncations)
        over = wanted_terminations | wanted_truncations
        ended += int(over.sum())
        assert set(info) == set(wanted_info) - {"final_info", "_final_info"}
        if "final_obs" in info:
            assert same(info["_final_obs"], wanted_info["_final_obs"])
            for row in np.flatnonzero(over):
                assert same(info["final_obs"][row], wanted_info["final_obs"][row]), step
        if mode is AutoresetMode.DISABLED and over.any():
            seed = step if step % 3 == 0 else None
            observations, _ = ours.reset(seed=seed, reset_mask=over)
            wanted, _ = theirs.reset(seed=seed, options={"reset_mask": over})
            assert same(observations, wanted), step
    assert ended > VECTOR or STEPS < 100_000


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(ValueError, match='there is no environment "CartPole-v9"; use one of Acrobot-v1, '):
        torchforge.make("CartPole-v9")
    with pytest.raises(ValueError, match='autoreset_mode is "Never" and must be NextStep, '):
        torchforge.make_vec("CartPole-v1", 2, autoreset_mode="Never")
    with pytest.raises(ValueError, match="num_envs is 0 and must be a whole number from 1"):
        torchforge.make_vec("CartPole-v1", 0)
    pendulum = torchforge.make("Pendulum-v1")
    with pytest.raises(RuntimeError, match="give its first reset a seed"):
        pendulum.reset()
    pendulum.reset(seed=1)
    with pytest.raises(ValueError, match="not a NumPy array of float32"):
        pendulum.step(np.array([0.5]))
    cart_pole = torchforge.make("CartPole-v1")
    cart_pole.reset(seed=1)
    for action in (2, -1, 1 << 40):
        with pytest.raises(ValueError, match=f"action is {action} and must be a whole number from 0 to 1"):
            cart_pole.step(action)
    together = torchforge.make_vec("CartPole-v1", 2, autoreset_mode="Disabled")
    together.reset(seed=1)
    with pytest.raises(ValueError, match="actions"):
        together.step(np.array([0]))
    with pytest.raises(ValueError, match=r"actions\[1\] is -1 and must be"):
        together.step(np.array([0, -1]))
