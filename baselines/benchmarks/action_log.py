"""What a training does to its environments: each reset and each action. A referee plays all again from these alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

# In a file the seed of a reset that was given none.
NO_SEED = -1


class ActionLog:
    """What was done to one environment.

    Actions are kept as a file holds them: a byte each of a discrete space, else f32.
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        """Begin before the first reset of an environment with this space of actions."""
        self._shape = space.shape or ()
        self._discrete = isinstance(space, gym.spaces.Discrete)
        self._kind = np.uint8 if self._discrete else np.float32
        self._actions = bytearray()
        self._steps = 0
        self._resets: list[int] = []
        self._seeds: list[int] = []

    @classmethod
    def of(
        cls, space: gym.Space[Any], actions: NDArray[Any], resets: Iterable[int], seed: int
    ) -> "ActionLog":
        """The log of a whole training that was noted in arrays.

        Args:
            space: of the actions.
            actions: of each step.
            resets: how many steps came before each reset but the first.
            seed: of the first reset; the others had none.
        """
        log = cls(space)
        log._actions += actions.astype(log._kind, copy=False).tobytes()
        log._steps = len(actions)
        log._resets = [0, *resets]
        log._seeds = [seed, *[NO_SEED] * (len(log._resets) - 1)]
        return log

    def reset(self, seed: int | None) -> None:
        """Take down a reset."""
        self._resets.append(self._steps)
        self._seeds.append(NO_SEED if seed is None else seed)

    def step(self, action: Any) -> None:
        """Take down an action."""
        self._steps += 1
        if self._discrete:
            self._actions.append(int(action))
        else:
            self._actions += np.asarray(action, np.float32).tobytes()

    def arrays(self, index: int) -> dict[str, NDArray[Any]]:
        """The log as a file holds it, under the number of its environment: actions, resets and seeds."""
        return {
            f"{index}.actions": np.frombuffer(self._actions, self._kind).reshape(self._steps, *self._shape),
            f"{index}.resets": np.array(self._resets, np.int64),
            f"{index}.seeds": np.array(self._seeds, np.int64),
        }


class Logged(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose resets and actions are taken down."""

    def __init__(self, environment: gym.Env[Any, Any]) -> None:
        super().__init__(environment)
        self.log = ActionLog(environment.action_space)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        self.log.reset(seed)
        return self.env.reset(seed=seed, options=None if options is None else dict(options))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment does."""
        self.log.step(action)
        return self.env.step(action)


def logs_of(environments: VectorEnv[Any, Any, Any]) -> list[ActionLog]:
    """The logs of environments that are stepped together."""
    if not isinstance(environments, SyncVectorEnv):
        raise TypeError(f"{environments} does not step its environments one after the other")
    return [log_of(each) for each in environments.envs]


def log_of(environment: gym.Env[Any, Any]) -> ActionLog:
    """The log of an environment that is `Logged` below other wrappers."""
    while not isinstance(environment, Logged):
        if not isinstance(environment, gym.Wrapper):
            raise TypeError(f"{environment} is not logged")
        environment = environment.env
    return environment.log


def arrays_of(logs: Iterable[ActionLog]) -> dict[str, NDArray[Any]]:
    """The logs of a training's environments as their file holds them."""
    return {name: array for index, log in enumerate(logs) for name, array in log.arrays(index).items()}
