"""What the trainings by other libraries share: their course, and their gradient steps and episodes, from outside."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import torch

from baselines import training
from baselines.training import Episode, Parameters


def main(
    name: str,
    description: str | None,
    parameters: type[Parameters],
    by_hand: Mapping[str, str | int],
    train: Callable[[Parameters, int], training.Trained],
    first_line: float,
) -> None:
    """Serve the case asked for by ``train``, which has no parity updates: it takes no weights from outside.

    Args:
        name: the file's, which names the folder of a run by hand.
        description: what ``--help`` says.
        parameters: the reference's type of a case.
        by_hand: the reference's parameters for a person who names no case.
        train: the training, for parameters and a seed.
        first_line: ``time.perf_counter`` at the first line of the library's file.
    """
    _keep_stdout()
    training.main(
        training.Algorithm(
            name=name,
            description=description,
            parameters=parameters,
            by_hand=by_hand,
            variant=training.Variant(train=train, parity=None),
        ),
        first_line,
    )


def _keep_stdout() -> None:
    """Send to stderr what a library writes to stdout, which is for events alone: TorchRL logs there."""
    sys.stdout.flush()
    events = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(events, "w", encoding="utf-8")


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
    environment = gym.wrappers.RecordEpisodeStatistics(gym.make(name), buffer_length=steps)
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
