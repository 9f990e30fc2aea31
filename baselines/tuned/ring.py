"""The replay buffer of the tuned DQN and SAC."""

from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from baselines.references.replay_buffer import Batch


class Ring:
    """The replay buffer's transitions in memory that NumPy writes to and PyTorch gathers from."""

    def __init__(
        self,
        size: int,
        observation_shape: tuple[int, ...],
        action_shape: tuple[int, ...],
        action_type: DTypeLike,
    ) -> None:
        self.observations = np.zeros((size, *observation_shape), dtype=np.float32)
        self.next_observations = np.zeros((size, *observation_shape), dtype=np.float32)
        self.actions = np.zeros((size, *action_shape), dtype=action_type)
        self.rewards = np.zeros((size, 1), dtype=np.float32)
        self.terminations = np.zeros((size, 1), dtype=np.float32)
        fields = (self.observations, self.next_observations, self.actions, self.rewards, self.terminations)
        self.tensors = tuple(torch.from_numpy(each) for each in fields)
        self.position = 0
        self.rows = 0

    def add(
        self,
        observation: NDArray[Any],
        next_observation: NDArray[Any],
        action: int | NDArray[Any],
        reward: float,
        *,
        terminated: bool,
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full."""
        at = self.position
        self.observations[at] = observation
        self.next_observations[at] = next_observation
        self.actions[at] = action
        self.rewards[at] = reward
        self.terminations[at] = terminated
        self.position = (at + 1) % len(self.rewards)
        self.rows = min(self.rows + 1, len(self.rewards))

    def latest(self) -> tuple[NDArray[np.float32], float]:
        """The next observation and the termination flag of the transition that was added last."""
        return self.next_observations[self.position - 1], float(self.terminations[self.position - 1, 0])

    def sample(self, batch_size: int) -> Batch:
        """A minibatch of copies. The index among environments, always 0, takes nothing from NumPy's generator."""
        rows = torch.from_numpy(np.random.randint(0, self.rows, size=batch_size))
        return Batch(*(each.index_select(0, rows) for each in self.tensors))
