"""`env-vector` by rlox 1.2.0: its `VecEnv`, CartPole in Rust, in as many threads as there are processors.

It draws resets with a generator of its own. Its seed is one for all environments.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import rlox
from numpy.typing import NDArray

from baselines.benchmarks import env_vector
from baselines.contract import protocol


class Vector:
    """Its vector."""

    def __init__(self, count: int) -> None:
        self.environments = rlox.VecEnv(count, seed=0, env_id=env_vector.NAME)

    @property
    def step(self) -> Callable[[Any], Any]:
        """Its own step."""
        step: Callable[[Any], Any] = self.environments.step_all
        return step

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode everywhere."""
        observations: NDArray[Any] = self.environments.reset_all(seed=seed)
        return observations

    def laid_out(self, actions: env_vector.Actions) -> Any:
        """It takes arrays of u32 without a list."""
        return actions.astype(np.uint32)

    def read(self, stepped: Any) -> env_vector.Step:
        """Arrays, flags as bytes, and a list of last observations."""
        terminated, truncated = (stepped[name].astype(np.bool_) for name in ("terminated", "truncated"))
        final = env_vector.final_rows(terminated | truncated, stepped["terminal_obs"])
        return env_vector.Step(stepped["obs"], stepped["rewards"], terminated, truncated, final)


if __name__ == "__main__":
    env_vector.run(protocol.parser(__doc__).parse_args(), Vector)
