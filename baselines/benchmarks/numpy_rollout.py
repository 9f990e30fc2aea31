"""Rollouts that a loop stores in NumPy's arrays, step by step: what most programs do."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import rollout
from baselines.benchmarks.env_vector import Actions

Array: TypeAlias = NDArray[np.float64]
# Advantages and returns, of rewards, values and ended episodes, (steps, n) each.
Estimate = Callable[[Array, Array, Array], tuple[Array, Array]]

# Steps that are turned over at once: a few rows stay in the processor's nearest cache.
_BLOCK = 32


class Storage(NamedTuple):
    """What a rollout is stored in; the time comes first."""

    observations: NDArray[np.float32]
    actions: NDArray[Any]
    rewards: Array
    dones: Array
    values: Array


class Stored(NamedTuple):
    """A rollout."""

    storage: Storage
    advantages: Array
    returns: Array


class Storages:
    """The storage of each rollout of a repetition, made once: the next repetition writes over it."""

    def __init__(self) -> None:
        self._made: list[Storage] = []
        self._used = 0

    def begin(self) -> None:
        """The next rollout is the first of a repetition."""
        self._used = 0

    def next(self, actions: NDArray[Any]) -> Storage:
        """For the next rollout, which has these actions."""
        if self._used == len(self._made):
            arrays = (np.zeros(actions.shape) for _ in ("rewards", "dones", "values"))
            observations = np.zeros((*actions.shape, rollout.WIDTH), np.float32)
            self._made.append(Storage(observations, np.zeros_like(actions), *arrays))
        self._used += 1
        return self._made[self._used - 1]


class Vector:
    """A vector by Gymnasium's interface.

    Args:
        environments: what they hand out is copied before the next step.
        estimate: what estimates the advantages.
        action_type: of the actions that they take.
    """

    def __init__(
        self, environments: Any, estimate: Estimate, action_type: type[np.integer[Any]] = np.int64
    ) -> None:
        self._environments = environments
        self._estimate = estimate
        self._action_type = action_type
        self._storages = Storages()
        self._seen: Any = None

    def reset(self, seed: int) -> None:
        """Environment i gets the seed plus i."""
        self._storages.begin()
        self._seen = self._environments.reset(seed=seed)[0]

    def laid_out(self, actions: Actions) -> Any:
        """An array, whose rows are the actions of a step."""
        return actions.astype(self._action_type)

    def collect(self, actions: Any) -> Stored:
        """Take and store every step."""
        storage = self._storages.next(actions)
        observations, taken, rewards, dones, values = storage
        step, seen = self._environments.step, self._seen
        for t, action in enumerate(actions):
            observations[t] = seen
            taken[t] = action
            values[t] = rollout.VALUE
            seen, rewards[t], terminated, truncated, _ = step(action)
            np.logical_or(terminated, truncated, out=dones[t])
        self._seen = seen
        return Stored(storage, *self._estimate(rewards, values, dones))

    def gathered(self, collected: Stored) -> rollout.Rollout:
        """Its arrays."""
        return gathered(collected)


def gathered(stored: Stored) -> rollout.Rollout:
    """What is compared of a rollout."""
    storage = stored.storage
    return rollout.Rollout(
        storage.observations, storage.rewards, storage.dones, stored.advantages, stored.returns
    )


def estimate_in_place(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """The reference's estimate, two operations a step."""
    factors = 1.0 - dones
    deltas = np.empty_like(values)
    deltas[:-1], deltas[-1] = values[1:], rollout.VALUE
    deltas *= rollout.GAMMA
    deltas *= factors
    deltas += rewards
    deltas -= values
    factors *= rollout.GAMMA * rollout.LAMBDA
    later = np.zeros_like(deltas[0])
    for delta, factor in zip(deltas[::-1], factors[::-1], strict=True):
        np.multiply(factor, later, out=factor)
        later = np.add(delta, factor, out=delta)
    return deltas, deltas + values


def turned_over(array: Array) -> Array:
    """A copy (n, steps) of (steps, n), for what takes one trajectory after another. Blocks are faster than a whole."""
    steps, environments = array.shape
    turned = np.empty((environments, steps))
    for first in range(0, steps, _BLOCK):
        turned[:, first : first + _BLOCK] = array[first : first + _BLOCK].T
    return turned
