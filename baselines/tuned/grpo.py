"""`grpo` as fast as NumPy does it: squares without an array of their own, and all else in place."""

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import grpo
from baselines.contract import protocol


def advantages(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Advantages of rewards (groups, size)."""
    size = rewards.shape[1]
    centred: NDArray[np.float64] = rewards - np.add.reduce(rewards, axis=1, keepdims=True) / size
    deviations = np.sqrt(np.einsum("gi,gi->g", centred, centred) / size)
    centred /= (deviations + grpo.EPSILON)[:, None]
    return centred


COURSE = grpo.Course(call=advantages)


if __name__ == "__main__":
    grpo.run(protocol.parser(__doc__).parse_args(), COURSE)
