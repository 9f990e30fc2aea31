"""`gae` as fast as NumPy does it: the reference's arithmetic, to the bit, with all that needs no loop left out of it."""

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays

Array = NDArray[np.float64]


def deltas_and_factors(rewards: Array, values: Array, dones: Array, gamma: float) -> tuple[Array, Array]:
    """The temporal-difference errors, and what an advantage is multiplied by on its way to the step before."""
    factors = 1.0 - dones
    deltas = np.empty_like(values)
    deltas[..., :-1], deltas[..., -1] = values[..., 1:], gae.LAST_VALUE
    deltas *= gamma
    deltas *= factors
    deltas += rewards
    deltas -= values
    factors *= gamma * gae.LAMBDA
    return deltas, factors


def trajectory(rewards: Array, values: Array, dones: Array, gamma: float) -> tuple[Array, Array]:
    """The reference's `backward_loop` of one trajectory, over Python's floats: an array's elements cost more."""
    deltas, factors = deltas_and_factors(rewards, values, dones, gamma)
    advantage, backwards = 0.0, []
    for delta, factor in zip(reversed(deltas.tolist()), reversed(factors.tolist()), strict=True):
        advantage = delta + factor * advantage
        backwards.append(advantage)
    backwards.reverse()
    advantages = np.array(backwards)
    return advantages, advantages + values


def batch(rewards: Array, values: Array, dones: Array, gamma: float) -> tuple[Array, Array]:
    """`batched` of the reference, two operations a step, in place."""
    terms = deltas_and_factors(rewards, values, dones, gamma)
    deltas, factors = (np.ascontiguousarray(each.T) for each in terms)
    later = np.zeros_like(deltas[0])
    for delta, factor in zip(deltas[::-1], factors[::-1], strict=True):
        np.multiply(factor, later, out=factor)
        later = np.add(delta, factor, out=delta)
    advantages = np.ascontiguousarray(deltas.T)
    return advantages, advantages + values


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed."""
    compute = trajectory if arrays.rewards.ndim == 1 else batch
    rewards, values, dones = arrays
    return lambda gamma: compute(rewards, values, dones, gamma)


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
