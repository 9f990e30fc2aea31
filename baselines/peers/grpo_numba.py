"""`grpo` by Numba 0.68.1: one loop for means and squares, one for deviations of all groups at once, one for advantages.

By hand the largest case takes 15 µs. One loop over the groups took 22 µs: it waited for each root and each division.
Its sums in order took 48 µs, and sizes compiled in 82 µs. Eight groups side by side took 39 µs.
"""

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import grpo
from baselines.contract import protocol
from baselines.peers.numba_loops import compiled

Array = NDArray[np.float64]

_EPSILON, _empty = grpo.EPSILON, np.empty


def _fill(rewards: Array, advantages: Array) -> None:
    """Advantages of rewards (groups, size)."""
    groups, size = rewards.shape
    share = 1.0 / size
    means, scales = np.empty(groups), np.empty(groups)
    for group in range(groups):
        total = 0.0
        for answer in range(size):
            total += rewards[group, answer]
        mean = total * share
        squares = 0.0
        for answer in range(size):
            centred = rewards[group, answer] - mean
            squares += centred * centred
        means[group], scales[group] = mean, squares
    for group in range(groups):
        scales[group] = 1.0 / (np.sqrt(scales[group] * share) + _EPSILON)
    for group in range(groups):
        for answer in range(size):
            advantages[group, answer] = (rewards[group, answer] - means[group]) * scales[group]


fill = compiled(_fill, "void(f8[:,::1], f8[:,::1])", reordered=True)


def advantages(rewards: Array) -> Array:
    """Advantages of rewards (groups, size), in an array that NumPy makes: Numba's own takes longer."""
    found: Array = _empty(rewards.shape)
    fill(rewards, found)
    return found


COURSE = grpo.Course(call=advantages)


if __name__ == "__main__":
    grpo.run(protocol.parser(__doc__).parse_args(), COURSE)
