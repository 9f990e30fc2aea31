"""How `phases_ppo_torchforge` plays a rollout: step by step, or by one call of `collect`; and what it keeps of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import torch
import torchforge
from numpy.typing import NDArray
from torch import Tensor
from torchforge.envs import VectorEnv

from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog
from baselines.benchmarks.phases import Layer, Phase, Watch
from baselines.benchmarks.ppo import Parameters

PHASES = (
    Phase("environment", Layer.RUST),
    Phase("acting", Layer.PYTORCH),
    Phase("conversion", Layer.PYTHON),
    Phase("storing", Layer.PYTHON),
    Phase("episodes", Layer.PYTHON),
    Phase("advantages", Layer.RUST),
    Phase("minibatches", Layer.PYTORCH),
    Phase("update", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
ENVIRONMENT, ACTING, CONVERSION, STORING, EPISODES, ADVANTAGES, MINIBATCHES, UPDATE, OTHER = range(
    len(PHASES)
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A rollout: tensors (steps, environments, ...), and what the advantages are computed of, (environments, steps)."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    values: Tensor
    rewards_by_row: Floats
    values_by_row: Floats
    ended_by_row: Floats


class Rollout(Protocol):
    """Keeps the steps of a rollout."""

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Keep one step of all environments."""

    def whole(self) -> Collected:
        """All steps of the rollout."""


class Lists:
    """A list for each quantity, made one tensor when the rollout is whole."""

    def __init__(self) -> None:
        self._steps: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        self._told: list[tuple[Floats, Flags]] = []

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Append one step."""
        del step
        self._steps.append((seen, actions, log_probabilities, values))
        self._told.append((rewards, ended))

    def whole(self) -> Collected:
        """Stack all, and begin anew."""
        seen, actions, log_probabilities, values = (
            torch.stack(each) for each in zip(*self._steps, strict=True)
        )
        rewards, ended = (np.stack(each) for each in zip(*self._told, strict=True))
        self._steps, self._told = [], []
        return Collected(
            observations=seen,
            actions=actions,
            log_probabilities=log_probabilities,
            values=values,
            rewards_by_row=np.ascontiguousarray(rewards.T),
            values_by_row=np.ascontiguousarray(values.numpy().T, dtype=np.float64),
            ended_by_row=np.ascontiguousarray(ended.T, dtype=np.float64),
        )


class Preallocated:
    """Arrays for a whole rollout, made once. What the advantages need is laid out for them."""

    def __init__(self, parameters: Parameters, observation_shape: tuple[int, ...]) -> None:
        steps, count = parameters.rollout_steps, parameters.environments
        self._observations = torch.empty(steps, count, *observation_shape)
        self._actions = torch.empty(steps, count, dtype=torch.int64)
        self._log_probabilities = torch.empty(steps, count)
        self._values = torch.empty(steps, count)
        self._rewards = np.empty((count, steps))
        self._ended = np.empty((count, steps))

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Write one step."""
        self._observations[step] = seen
        self._actions[step] = actions
        self._log_probabilities[step] = log_probabilities
        self._values[step] = values
        self._rewards[:, step] = rewards
        self._ended[:, step] = ended

    def whole(self) -> Collected:
        """The arrays themselves: the next rollout overwrites them."""
        return Collected(
            observations=self._observations,
            actions=self._actions,
            log_probabilities=self._log_probabilities,
            values=self._values,
            rewards_by_row=self._rewards,
            values_by_row=np.ascontiguousarray(self._values.numpy().T, dtype=np.float64),
            ended_by_row=self._ended,
        )


class Episodes:
    """The episodes of environments that are stepped together."""

    def __init__(self, count: int) -> None:
        self.finished: list[training.Episode] = []
        self.ends: list[list[int]] = [[] for _ in range(count)]
        """The steps that each environment had taken when its episodes ended."""
        self._count = count
        self._steps = 0
        self._began = [0] * count
        self._returns = np.zeros(count)

    def logs(self, space: gym.Space[Any], actions: NDArray[Any], seed: int) -> list[ActionLog]:
        """The log of each environment, given the actions (steps, environments) and the first one's seed."""
        return [
            ActionLog.of(space, actions[:, index], self.ends[index], seed + index)
            for index in range(self._count)
        ]

    def step(self, rewards: Floats, ended: Flags) -> None:
        """Take down a step of all."""
        self._steps += 1
        self._returns += rewards
        if ended.any():
            for index in np.flatnonzero(ended).tolist():
                length = self._steps - self._began[index]
                step = (self._steps - 1) * self._count + index
                self.finished.append(training.Episode(step, length, float(self._returns[index])))
                self._began[index] = self._steps
                self._returns[index] = 0.0
                self.ends[index].append(self._steps)


Act = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""From observations (n, ...): drawn actions (n,), their log-probabilities (n,), and values (n,)."""


Convert = Callable[[Tensor], NDArray[np.int64]]
"""From drawn actions, (n,), to those that the environments are given."""


def through_a_list(actions: Tensor) -> NDArray[np.int64]:
    """Actions by way of a list of Python's numbers, as that report's collector makes it."""
    return np.array(actions.numpy().astype(np.uint32).tolist(), dtype=np.int64)


def as_array(actions: Tensor) -> NDArray[np.int64]:
    """The memory of the tensor itself."""
    array: NDArray[np.int64] = actions.numpy()
    return array


class Played:
    """What a training takes down of all its steps."""

    def __init__(self, parameters: Parameters) -> None:
        steps, count = parameters.rollout_steps, parameters.environments
        self.environment_steps = 0
        self.episodes = Episodes(count)
        self.actions: list[NDArray[np.int64]] = []
        """Each (environments,), or of a whole rollout (steps, environments)."""
        self.ended_before = np.zeros((steps + 1, count), dtype=np.bool_)
        """Row t + 1 says which episodes ended with step t of the newest rollout."""


class Player(Protocol):
    """Plays rollouts in environments of our module."""

    played: Played

    def reset(self, seed: int) -> Tensor:
        """Begin an episode everywhere; what is seen, (environments, ...)."""

    def play(self, act: Act, seen: Tensor) -> Tensor:
        """Play a rollout from what is seen; what is seen after it."""

    def whole(self) -> Collected:
        """The newest rollout."""


class StepByStep:
    """A loop in Python, which takes one step of all environments in a call."""

    def __init__(self, parameters: Parameters, watch: Watch, convert: Convert, rollout: Rollout) -> None:
        self.played = Played(parameters)
        self._environments = torchforge.make_vec(parameters.environment, parameters.environments, "SameStep")
        self._take_step = watch.crossing("environment_step", self._environments.step)
        self._parameters, self._watch, self._convert, self._rollout = parameters, watch, convert, rollout

    def reset(self, seed: int) -> Tensor:
        """Begin everywhere."""
        return torch.from_numpy(self._environments.reset(seed=seed)[0])

    def play(self, act: Act, seen: Tensor) -> Tensor:
        """Ask, step and keep, as often as a rollout has steps."""
        played, take_step = self.played, self._take_step
        convert, ended_at = self._convert, self._watch.ended
        for step in range(self._parameters.rollout_steps):
            played.environment_steps += self._parameters.environments
            with torch.no_grad():
                actions, log_probabilities, values = act(seen)
            ended_at(ACTING)
            taken = convert(actions)
            ended_at(CONVERSION)
            observations, rewards, terminations, truncations, _ = take_step(taken)
            ended_at(ENVIRONMENT)
            ended = terminations | truncations
            played.ended_before[step + 1] = ended
            self._rollout.keep(step, seen, actions, log_probabilities, values, rewards, ended)
            ended_at(STORING)
            played.episodes.step(rewards, ended)
            played.actions.append(taken)
            ended_at(EPISODES)
            seen = torch.from_numpy(observations)
            ended_at(CONVERSION)
        return seen

    def whole(self) -> Collected:
        """What was kept."""
        return self._rollout.whole()


class InOneCall:
    """One call of `collect` takes all steps of a rollout, and asks the policy in Python before each of them."""

    def __init__(self, parameters: Parameters, watch: Watch, convert: Convert) -> None:
        self.played = Played(parameters)
        self._environments = VectorEnv(
            parameters.environment, parameters.environments, autoreset_mode="SameStep"
        )
        self._collect = watch.crossing("collect", self._environments.collect)
        self._steps, self._watch, self._convert = parameters.rollout_steps, watch, convert
        self._found: torchforge.envs.Rollout
        self._said: list[tuple[Tensor, Tensor]] = []

    def reset(self, seed: int) -> Tensor:
        """Begin everywhere."""
        return torch.from_numpy(self._environments.reset(seed=seed)[0])

    def play(self, act: Act, seen: Tensor) -> Tensor:
        """Collect a rollout. `collect` itself says what is seen before each step."""
        del seen
        played, convert, ended_at = self.played, self._convert, self._watch.ended
        said = self._said = []

        def policy(observations: NDArray[np.float32]) -> NDArray[np.int64]:
            ended_at(ENVIRONMENT)
            seen = torch.from_numpy(observations)
            ended_at(CONVERSION)
            with torch.no_grad():
                actions, log_probabilities, values = act(seen)
            ended_at(ACTING)
            said.append((log_probabilities, values))
            ended_at(STORING)
            taken = convert(actions)
            ended_at(CONVERSION)
            return taken

        # Making `act` belongs to acting, and the next border is behind the call of our module.
        ended_at(ACTING)
        found = self._found = self._collect(self._steps, policy)
        ended_at(ENVIRONMENT)
        played.environment_steps += found.rewards.size
        ended = played.ended_before[1:] = found.terminations | found.truncations
        ended_at(STORING)
        for step in range(self._steps):
            played.episodes.step(found.rewards[step], ended[step])
        played.actions.append(found.actions.astype(np.int64, copy=False))
        ended_at(EPISODES)
        after = torch.from_numpy(found.next_observations)
        ended_at(CONVERSION)
        return after

    def whole(self) -> Collected:
        """What was collected, with what the agent said at each step."""
        found = self._found
        log_probabilities, values = (torch.stack(each) for each in zip(*self._said, strict=True))
        return Collected(
            observations=torch.from_numpy(found.observations),
            actions=torch.from_numpy(found.actions),
            log_probabilities=log_probabilities,
            values=values,
            rewards_by_row=np.ascontiguousarray(found.rewards.T),
            values_by_row=np.ascontiguousarray(values.numpy().T, dtype=np.float64),
            ended_by_row=np.ascontiguousarray(self.played.ended_before[1:].T, dtype=np.float64),
        )
