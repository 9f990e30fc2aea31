"""The gradient steps and the episodes of a training by another library, counted from outside."""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import torch

from baselines.benchmarks.action_log import Logged
from baselines.benchmarks.training import Episode


class GradientSteps:
    """Counts the steps of optimisers, each of which is one minibatch's, where they happen."""

    def __init__(self, *optimizers: torch.optim.Optimizer) -> None:
        self.count = 0
        for optimizer in optimizers:
            optimizer.register_step_post_hook(self._one_more)

    def _one_more(self, *_: Any) -> None:
        self.count += 1


class Finished:
    """Keeps what TorchRL's transforms RewardSum and StepCounter say of every step's end, for after the clock."""

    def __init__(self) -> None:
        self._blocks: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def add(self, data: Any) -> None:
        """A block that the collector hands out: (steps,), or (environments, steps)."""
        following = data["next"]
        self._blocks.append(
            (following["done"].clone(), following["step_count"].clone(), following["episode_reward"].clone())
        )

    def episodes(self) -> list[Episode]:
        """Every finished episode."""
        done, lengths, returns = (
            torch.cat([block.reshape(-1, block.shape[-2]) for block in column], dim=1)
            for column in zip(*self._blocks, strict=True)
        )
        return episodes_of(
            [row[ended].tolist() for row, ended in zip(lengths, done, strict=True)],
            [row[ended].tolist() for row, ended in zip(returns, done, strict=True)],
        )


def recorded(name: str, seed: int, steps: int) -> gym.wrappers.RecordEpisodeStatistics[Any, Any]:
    """An environment that keeps every episode of so many steps, for a library that resets it without a seed."""
    environment = gym.wrappers.RecordEpisodeStatistics(Logged(gym.make(name)), buffer_length=steps)
    environment.action_space.seed(seed)
    environment.reset(seed=seed)
    return environment


def episodes_of(lengths: Sequence[Iterable[int]], returns: Sequence[Iterable[float]]) -> list[Episode]:
    """Episodes in the order in which they ended, from the lengths and returns of each environment's.

    Environments that play side by side share the count of steps: the i-th step of the first is step
    i * environments, that of the next one more.
    """
    episodes = []
    for environment, (its_lengths, its_returns) in enumerate(zip(lengths, returns, strict=True)):
        played = 0
        for length, value in zip(its_lengths, its_returns, strict=True):
            played += int(length)
            step = (played - 1) * len(lengths) + environment
            episodes.append(Episode(step, int(length), float(value)))
    return sorted(episodes)
