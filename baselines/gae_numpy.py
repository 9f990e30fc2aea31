"""The reference of `gae`: the plain backward loop over NumPy arrays of CleanRL and Stable-Baselines3.

`--tuned` is the same arithmetic, to the bit, with everything that needs no loop left out of it.
"""

import numpy as np
from numpy.typing import NDArray

from baselines import gae, protocol
from baselines.inputs import GaeArrays

Array = NDArray[np.float64]


def backward_loop(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """Advantages and returns of one trajectory (length,) or several (length, batch): the time comes first."""
    advantages = np.empty_like(rewards)
    next_value = np.full(rewards.shape[1:], gae.LAST_VALUE)[()]
    next_advantage = np.zeros(rewards.shape[1:])[()]
    for t in reversed(range(len(rewards))):
        going_on = 1.0 - dones[t]
        delta = rewards[t] + gae.GAMMA * next_value * going_on - values[t]
        advantages[t] = next_advantage = delta + gae.GAMMA * gae.LAMBDA * going_on * next_advantage
        next_value = values[t]
    return advantages, advantages + values


def batched(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """The same for arrays (batch, length).

    The loop wants the batch's values of one step side by side: strided rows cost more than turning the
    arrays over. The caller has (batch, length), so both turns belong to the call.
    """
    advantages, returns = backward_loop(
        *(np.ascontiguousarray(array.T) for array in (rewards, values, dones))
    )
    return np.ascontiguousarray(advantages.T), np.ascontiguousarray(returns.T)


def deltas_and_factors(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """The temporal-difference errors, and what an advantage is multiplied by on its way to the step before."""
    factors = 1.0 - dones
    deltas = np.empty_like(values)
    deltas[..., :-1], deltas[..., -1] = values[..., 1:], gae.LAST_VALUE
    deltas *= gae.GAMMA
    deltas *= factors
    deltas += rewards
    deltas -= values
    factors *= gae.GAMMA * gae.LAMBDA
    return deltas, factors


def tuned_trajectory(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """`backward_loop` of one trajectory, over Python's own floats: an element of an array costs more than they."""
    deltas, factors = deltas_and_factors(rewards, values, dones)
    advantage, backwards = 0.0, []
    for delta, factor in zip(reversed(deltas.tolist()), reversed(factors.tolist()), strict=True):
        advantage = delta + factor * advantage
        backwards.append(advantage)
    backwards.reverse()
    advantages = np.array(backwards)
    return advantages, advantages + values


def tuned_batch(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """`batched`, two operations a step, in place."""
    terms = deltas_and_factors(rewards, values, dones)
    deltas, factors = (np.ascontiguousarray(each.T) for each in terms)
    later = np.zeros_like(deltas[0])
    for delta, factor in zip(deltas[::-1], factors[::-1], strict=True):
        np.multiply(factor, later, out=factor)
        later = np.add(delta, factor, out=delta)
    advantages = np.ascontiguousarray(deltas.T)
    return advantages, advantages + values


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed."""
    compute = backward_loop if arrays.rewards.ndim == 1 else batched
    return lambda: compute(*arrays)


def prepare_tuned(arrays: GaeArrays) -> gae.Call:
    """The call that is timed, of the tuned variant."""
    compute = tuned_trajectory if arrays.rewards.ndim == 1 else tuned_batch
    return lambda: compute(*arrays)


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--tuned", action="store_true", help="the same work, as fast as NumPy does it")
    options = parser.parse_args()
    gae.run(options, prepare_tuned if options.tuned else prepare)
