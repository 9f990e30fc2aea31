"""The reference of `grpo`: NumPy as anybody writes it."""

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import grpo
from baselines.contract import protocol


def advantages(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Advantages of rewards (groups, size)."""
    mean, deviation = rewards.mean(axis=1, keepdims=True), rewards.std(axis=1, keepdims=True)
    found: NDArray[np.float64] = (rewards - mean) / (deviation + grpo.EPSILON)
    return found


COURSE = grpo.Course(call=advantages)


if __name__ == "__main__":
    grpo.run(protocol.parser(__doc__).parse_args(), COURSE)
