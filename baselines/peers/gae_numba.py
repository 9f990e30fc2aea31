"""`gae` by Numba 0.68.1: one loop over the steps. Four are composed, so only one in four waits for the step after it.

Inputs lie in one array, and so do results. docs/decisions/strongest-peers.md has what other ways took.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays
from baselines.peers.numba_loops import compiled

Array = NDArray[np.float64]

_LAST_VALUE, _LAMBDA = gae.LAST_VALUE, gae.LAMBDA
_LAST_OF_FOUR = 3


def _trajectory(
    rewards: Array, values: Array, dones: Array, gamma: float, advantages: Array, returns: Array
) -> None:
    """One trajectory backwards, four steps at a time, and then the first steps that are left."""
    chained = gamma * _LAMBDA
    later, next_value = 0.0, _LAST_VALUE
    t = len(rewards) - 1
    while t >= _LAST_OF_FOUR:
        v0, v1, v2, v3 = values[t], values[t - 1], values[t - 2], values[t - 3]
        k0, k1, k2, k3 = 1.0 - dones[t], 1.0 - dones[t - 1], 1.0 - dones[t - 2], 1.0 - dones[t - 3]
        # What each step adds to the advantage after the four, and what it takes of it.
        d0 = rewards[t] - v0 + gamma * k0 * next_value
        f0 = chained * k0
        d1 = rewards[t - 1] - v1 + gamma * k1 * v0 + chained * k1 * d0
        f1 = chained * k1 * f0
        d2 = rewards[t - 2] - v2 + gamma * k2 * v1 + chained * k2 * d1
        f2 = chained * k2 * f1
        d3 = rewards[t - 3] - v3 + gamma * k3 * v2 + chained * k3 * d2
        f3 = chained * k3 * f2
        a0, a1, a2, later = d0 + f0 * later, d1 + f1 * later, d2 + f2 * later, d3 + f3 * later
        advantages[t], advantages[t - 1], advantages[t - 2], advantages[t - 3] = a0, a1, a2, later
        returns[t], returns[t - 1], returns[t - 2], returns[t - 3] = a0 + v0, a1 + v1, a2 + v2, later + v3
        next_value = v3
        t -= 4
    while t >= 0:
        on = 1.0 - dones[t]
        later = (rewards[t] - values[t] + gamma * on * next_value) + chained * on * later
        next_value = values[t]
        advantages[t], returns[t] = later, later + next_value
        t -= 1


trajectory = compiled(_trajectory)


def _one(given: Array, gamma: float, results: Array) -> None:
    """One trajectory of (3, length), into (2, length)."""
    trajectory(given[0], given[1], given[2], gamma, results[0], results[1])


def _several(given: Array, gamma: float, results: Array) -> None:
    """All rows of (3, batch, length), into (2, batch, length)."""
    for row in range(given.shape[1]):
        trajectory(given[0, row], given[1, row], given[2, row], gamma, results[0, row], results[1, row])


one = compiled(_one, "void(f8[:,::1], f8, f8[:,::1])")
several = compiled(_several, "void(f8[:,:,::1], f8, f8[:,:,::1])")


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed."""
    given = np.stack(arrays)
    shape, empty = (2, *arrays.rewards.shape), np.empty
    fill = one if arrays.rewards.ndim == 1 else several

    def call(gamma: float) -> Any:
        # Advantages and returns, an array of both: to take it apart would cost as much as a short call.
        results = empty(shape)
        fill(given, gamma, results)
        return results

    return call


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
