"""The gradient steps and the episodes of a training by a library that trains with PyTorch, counted from outside."""

from typing import Any

import torch

from baselines.benchmarks.training import Episode
from baselines.peers.counting import episodes_of


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
