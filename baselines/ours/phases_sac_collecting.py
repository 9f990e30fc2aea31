"""How `phases_sac_torchforge` acts and remembers: one environment and a push a step, or several and one push of all."""

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import torch
import torchforge
from numpy.typing import NDArray
from torch import nn

from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog
from baselines.benchmarks.phases import Layer, Phase, Watch
from baselines.benchmarks.sac import Parameters
from baselines.ours.phases_ppo_rollouts import Episodes
from baselines.references import sac
from baselines.references.replay_buffer import Truncations

PHASES = (
    Phase("environment", Layer.RUST),
    Phase("acting", Layer.PYTORCH),
    Phase("conversion", Layer.PYTHON),
    Phase("push", Layer.RUST),
    Phase("episodes", Layer.PYTHON),
    Phase("sampling", Layer.RUST),
    Phase("targets", Layer.PYTORCH),
    Phase("critics", Layer.PYTORCH),
    Phase("actor", Layer.PYTORCH),
    Phase("temperature", Layer.PYTORCH),
    Phase("polyak", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
(
    ENVIRONMENT,
    ACTING,
    CONVERSION,
    PUSH,
    EPISODES,
    SAMPLING,
    TARGETS,
    CRITICS,
    ACTOR,
    TEMPERATURE,
    POLYAK,
    OTHER,
) = range(len(PHASES))


class Collector(Protocol):
    """Takes steps of all environments, and pushes them into the replay buffer."""

    environment_steps: int
    truncated: Truncations

    def reset(self, seed: int) -> None:
        """Begin an episode everywhere."""

    def collect(self, step: int, actor: nn.ModuleDict | None) -> None:
        """Take a step everywhere, as the actor does or, without one, at random.

        Args:
            step: how many steps all environments together took before.
            actor: says the actions.
        """

    def finished(self) -> list[training.Episode]:
        """The episodes that ended."""

    def logs(self, seed: int) -> list[ActionLog]:
        """The log of each environment, given the first one's seed."""


def _note(
    truncated: Truncations,
    rows: Callable[[int, int], tuple[NDArray[Any], ...]],
    row: int,
    seen: NDArray[np.float32],
) -> None:
    """Look at what the buffer keeps of a truncation in this row, beside what was seen last."""
    _, stored, _, _, stored_end, _ = rows(row, row + 1)
    truncated.note((stored[0], float(stored_end[0])), seen)


class OneByOne:
    """One environment, and a push of its transition."""

    def __init__(
        self, parameters: Parameters, space: gym.spaces.Box, buffer: torchforge.ReplayBuffer, watch: Watch
    ) -> None:
        environment = torchforge.make(parameters.environment)
        self._begin = environment.reset
        self._take_step = watch.crossing("environment_step", environment.step)
        self._reset = watch.crossing("environment_reset", environment.reset)
        self._push = watch.crossing("push", buffer.push)
        self._rows = watch.crossing("rows", buffer.rows)
        self._space, self._bounds, self._capacity = space, sac.bounds_of(space), buffer.capacity
        self._watch = watch
        self.environment_steps, self.truncated = 0, Truncations()
        self._episodes: list[training.Episode] = []
        self._taken: list[NDArray[np.float32]] = []
        self._observation: NDArray[np.float32]
        self._length, self._total = 0, 0.0

    def reset(self, seed: int) -> None:
        """Begin the first episode."""
        self._observation, _ = self._begin(seed=seed)

    def collect(self, step: int, actor: nn.ModuleDict | None) -> None:
        """Act, step, push, and begin anew where the episode ended."""
        ended = self._watch.ended
        observation = self._observation
        if actor is None:
            action = self._space.sample()
            ended(ACTING)
        else:
            seen = torch.from_numpy(observation).view(1, -1)
            ended(CONVERSION)
            with torch.no_grad():
                drawn, _ = sac.sample(actor, self._bounds, seen)
            ended(ACTING)
            action = drawn.numpy()[0]
            ended(CONVERSION)
        next_observation, reward, terminated, cut_off, _ = self._take_step(action)
        ended(ENVIRONMENT)
        self.environment_steps += 1

        self._push(observation, next_observation, action, reward, terminated, cut_off)
        ended(PUSH)
        self._taken.append(action)
        self._length += 1
        self._total += reward
        if cut_off and not terminated:
            _note(self.truncated, self._rows, step % self._capacity, next_observation)
        self._observation = next_observation
        if terminated or cut_off:
            self._episodes.append(training.Episode(step, self._length, self._total))
            self._length, self._total = 0, 0.0
            ended(EPISODES)
            self._observation, _ = self._reset()
            ended(ENVIRONMENT)
        else:
            ended(EPISODES)

    def finished(self) -> list[training.Episode]:
        """The episodes that ended."""
        return self._episodes

    def logs(self, seed: int) -> list[ActionLog]:
        """The environment's log."""
        ends = np.cumsum([each.length for each in self._episodes], dtype=np.int64).tolist()
        return [ActionLog.of(self._space, np.array(self._taken), ends, seed)]


class Together:
    """Several environments, and one push of all their transitions."""

    def __init__(
        self, parameters: Parameters, space: gym.spaces.Box, buffer: torchforge.ReplayBuffer, watch: Watch
    ) -> None:
        self._count = parameters.environments
        environments = torchforge.make_vec(parameters.environment, self._count, "SameStep")
        self._begin = environments.reset
        self._take_step = watch.crossing("environment_step", environments.step)
        self._push = watch.crossing("push", buffer.extend)
        self._rows = watch.crossing("rows", buffer.rows)
        self._space, self._bounds, self._capacity = space, sac.bounds_of(space), buffer.capacity
        self._watch = watch
        self.environment_steps, self.truncated = 0, Truncations()
        self._episodes = Episodes(self._count)
        self._taken: list[NDArray[np.float32]] = []
        self._observations: NDArray[np.float32]

    def reset(self, seed: int) -> None:
        """Begin an episode everywhere."""
        self._observations, _ = self._begin(seed=seed)

    def collect(self, step: int, actor: nn.ModuleDict | None) -> None:
        """Act, step and push."""
        ended = self._watch.ended
        if actor is None:
            actions = np.array([self._space.sample() for _ in range(self._count)])
            ended(ACTING)
        else:
            seen = torch.from_numpy(self._observations)
            ended(CONVERSION)
            with torch.no_grad():
                drawn, _ = sac.sample(actor, self._bounds, seen)
            ended(ACTING)
            actions = drawn.numpy()
            ended(CONVERSION)
        observations, rewards, terminations, truncations, info = self._take_step(actions)
        ended(ENVIRONMENT)
        self.environment_steps += self._count

        over = terminations | truncations
        # Where an episode ended, the next one has begun, and its last observation is kept apart.
        last = np.where(over[:, None], info["final_obs"], observations) if over.any() else observations
        stored_rewards = rewards.astype(np.float32)
        ended(CONVERSION)
        self._push(self._observations, last, actions, stored_rewards, terminations, truncations)
        ended(PUSH)
        for index in np.flatnonzero(truncations & ~terminations).tolist():
            _note(self.truncated, self._rows, (step + index) % self._capacity, last[index])
        self._episodes.step(rewards, over)
        self._taken.append(actions)
        self._observations = observations
        ended(EPISODES)

    def finished(self) -> list[training.Episode]:
        """The episodes that ended."""
        return self._episodes.finished

    def logs(self, seed: int) -> list[ActionLog]:
        """The log of each environment."""
        return self._episodes.logs(self._space, np.array(self._taken), seed)
