"""The reference of `env-vector`: Gymnasium 1.2.3's `SyncVectorEnv`, as anybody makes it, in the same-step mode."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from baselines.benchmarks import env_vector
from baselines.contract import protocol


class Vector:
    """A vector by Gymnasium's interface."""

    def __init__(self, environments: Any, action_type: type[np.integer[Any]] = np.int64) -> None:
        self.environments = environments
        self._action_type = action_type

    @property
    def step(self) -> Callable[[Any], Any]:
        """Their own step."""
        step: Callable[[Any], Any] = self.environments.step
        return step

    def reset(self, seed: int) -> NDArray[Any]:
        """Environment i gets the seed plus i."""
        observations: NDArray[Any] = self.environments.reset(seed=seed)[0]
        return observations

    def laid_out(self, actions: env_vector.Actions) -> Any:
        """An array."""
        return actions.astype(self._action_type)

    def read(self, stepped: Any) -> env_vector.Step:
        """The last observations of ended episodes are in the information."""
        observations, rewards, terminated, truncated, info = stepped
        ended = info.get("_final_obs", np.zeros(len(rewards), np.bool_))
        final = env_vector.final_rows(ended, info.get("final_obs"))
        return env_vector.Step(observations, rewards, terminated, truncated, final)


def made(count: int) -> SyncVectorEnv:
    """As the documentation makes it."""
    one = partial(gymnasium.make, env_vector.NAME)
    return SyncVectorEnv([one] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def make(count: int) -> Vector:
    """So many environments."""
    return Vector(made(count))


if __name__ == "__main__":
    env_vector.run(protocol.parser(__doc__).parse_args(), make)
