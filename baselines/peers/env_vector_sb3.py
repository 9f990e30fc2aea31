"""`env-vector` by Stable-Baselines3 2.7.1: its vectors of Gymnasium's environments.

    python3 -m baselines.peers.env_vector_sb3 dummy|subproc --case ID --parameters JSON ...

`dummy` steps one environment after another in this process, `subproc` each in a process of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from baselines.benchmarks import env_vector, unchecked
from baselines.contract import protocol

_ONE = unchecked.maker(env_vector.NAME)


def dummy(count: int) -> DummyVecEnv:
    """In this process."""
    return DummyVecEnv([_ONE] * count)


def subproc(count: int) -> SubprocVecEnv:
    """Processes are forked before any thread is started."""
    return SubprocVecEnv([_ONE] * count, start_method="fork")


KINDS: Mapping[str, Callable[[int], VecEnv]] = {"dummy": dummy, "subproc": subproc}


class Vector:
    """One of its vectors."""

    def __init__(self, environments: VecEnv) -> None:
        self.environments = environments

    @property
    def step(self) -> Callable[[Any], Any]:
        """Its own step."""
        step: Callable[[Any], Any] = self.environments.step
        return step

    def reset(self, seed: int) -> NDArray[Any]:
        """Environment i gets the seed plus i."""
        self.environments.seed(seed)
        observations = self.environments.reset()
        if not isinstance(observations, np.ndarray):
            raise TypeError(f"the observations are {type(observations).__name__}, not an array")
        return observations

    def laid_out(self, actions: env_vector.Actions) -> Any:
        """An array."""
        return actions

    def read(self, stepped: Any) -> env_vector.Step:
        """Why an episode ended, and its last observation, are in an environment's information."""
        observations, rewards, ended, infos = stepped
        truncated = np.array([info["TimeLimit.truncated"] for info in infos])
        final = env_vector.final_rows(ended, [info.get("terminal_observation") for info in infos])
        return env_vector.Step(observations, rewards, ended & ~truncated, truncated, final)


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="which of its vectors")
    options = parser.parse_args()
    env_vector.run(options, lambda count: Vector(KINDS[options.kind](count)))


if __name__ == "__main__":
    main()
