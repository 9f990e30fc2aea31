"""A Gymnasium environment with as little around its steps as can be."""

import math
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from baselines.benchmarks.action_log import ActionLog
from baselines.benchmarks.training import Episode


class DirectEnvironment:
    """One Gymnasium environment without a vector, checks and statistics around it; the same episodes."""

    def __init__(self, name: str) -> None:
        environment: gym.Env[Any, Any] = gym.make(name, disable_env_checker=True)
        limit = None if environment.spec is None else environment.spec.max_episode_steps
        while isinstance(environment, OrderEnforcing | PassiveEnvChecker | TimeLimit):
            environment = environment.env
        self.environment = environment
        self.limit = math.inf if limit is None else limit
        self.log = ActionLog(environment.action_space)
        self.length = 0
        self.value = 0.0

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return tuple(self.environment.observation_space.shape or ())

    def reset(self, seed: int | None = None) -> NDArray[Any]:
        """The first observation of the next episode."""
        self.log.reset(seed)
        self.length, self.value = 0, 0.0
        observation: NDArray[Any] = self.environment.reset(seed=seed)[0]
        return observation

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool]:
        """Observation, reward, termination, and whether the episode ended, truncation included."""
        self.log.step(action)
        observation, reward, terminated, truncated, _ = self.environment.step(action)
        self.length += 1
        self.value += float(reward)
        return observation, float(reward), terminated, terminated or truncated or self.length >= self.limit

    def episode(self, step: int) -> Episode:
        """The episode that ended at this step of the run."""
        return Episode(step, self.length, self.value)
