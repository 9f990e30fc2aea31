"""`rollout` by rlox 1.2.0: its `VecEnv`, NumPy's arrays, and its GAE for several trajectories.

Its own collector wants a policy of PyTorch, asks it twice a step, and stacks lists of tensors; this loop does neither.
Its GAE takes trajectories end to end, so what is stored step by step is turned over, as its collector does.
"""

from typing import Any

import numpy as np
import rlox
from numpy.typing import NDArray

from baselines.benchmarks import numpy_rollout, rollout
from baselines.contract import protocol

Array = numpy_rollout.Array


def estimate(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """Its results, turned back as views."""
    steps, environments = rewards.shape
    rewards, values, dones = (
        numpy_rollout.turned_over(array).reshape(-1) for array in (rewards, values, dones)
    )
    last_values = np.full(environments, rollout.VALUE)
    advantages, returns = rlox.compute_gae_batched(
        rewards, values, dones, last_values, steps, rollout.GAMMA, rollout.LAMBDA
    )
    return advantages.reshape(environments, steps).T, returns.reshape(environments, steps).T


class Environments:
    """Its vector by Gymnasium's interface."""

    def __init__(self, count: int) -> None:
        self._environments = rlox.VecEnv(count, seed=0, env_id=rollout.NAME)

    def reset(self, *, seed: int) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode everywhere."""
        return self._environments.reset_all(seed=seed), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """A step everywhere."""
        found = self._environments.step_all(actions)
        return found["obs"], found["rewards"], found["terminated"], found["truncated"], found


def make(environments: int, _: int) -> numpy_rollout.Vector:
    """It takes arrays of u32 without a list."""
    return numpy_rollout.Vector(Environments(environments), estimate, np.uint32)


if __name__ == "__main__":
    rollout.run(protocol.parser(__doc__).parse_args(), make)
