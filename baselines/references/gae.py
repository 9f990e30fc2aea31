"""The reference of `gae`: the plain backward loop over NumPy arrays of CleanRL and Stable-Baselines3."""

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays

Array = NDArray[np.float64]


def backward_loop(rewards: Array, values: Array, dones: Array, gamma: float) -> tuple[Array, Array]:
    """Advantages and returns of one trajectory (length,) or several (length, batch): the time comes first."""
    advantages = np.empty_like(rewards)
    next_value = np.full(rewards.shape[1:], gae.LAST_VALUE)[()]
    next_advantage = np.zeros(rewards.shape[1:])[()]
    for t in reversed(range(len(rewards))):
        going_on = 1.0 - dones[t]
        delta = rewards[t] + gamma * next_value * going_on - values[t]
        advantages[t] = next_advantage = delta + gamma * gae.LAMBDA * going_on * next_advantage
        next_value = values[t]
    return advantages, advantages + values


def batched(rewards: Array, values: Array, dones: Array, gamma: float) -> tuple[Array, Array]:
    """The same for arrays (batch, length).

    The loop wants the batch's values of one step side by side: strided rows cost more than turning the
    arrays over. The caller has (batch, length), so both turns belong to the call.
    """
    rewards, values, dones = (np.ascontiguousarray(array.T) for array in (rewards, values, dones))
    advantages, returns = backward_loop(rewards, values, dones, gamma)
    return np.ascontiguousarray(advantages.T), np.ascontiguousarray(returns.T)


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed."""
    compute = backward_loop if arrays.rewards.ndim == 1 else batched
    rewards, values, dones = arrays
    return lambda gamma: compute(rewards, values, dones, gamma)


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
