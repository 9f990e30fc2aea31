"""The replay buffer of DQN and SAC, after Stable-Baselines3's as CleanRL keeps it."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor


class Batch(NamedTuple):
    """A minibatch: observations (n, ...) and actions (n, ...), rewards and terminations (n, 1) f32."""

    observations: Tensor
    next_observations: Tensor
    actions: Tensor
    rewards: Tensor
    terminations: Tensor


class Truncations:
    """What a buffer holds of steps at which an episode was cut off, read back from it: facts for the trace."""

    def __init__(self) -> None:
        self.ends = 0
        self.error = 0.0

    def note(self, stored: tuple[NDArray[np.float32], float], last_observation: NDArray[Any]) -> None:
        """Look at the transition of such a step.

        Args:
            stored: its next observation and its termination flag, as the buffer has them.
            last_observation: what the environment gave last of that episode.
        """
        next_observation, termination = stored
        self.ends += int(termination != 0)
        difference = np.abs(next_observation - last_observation.astype(np.float32))
        # Not by max(), which would drop a NaN.
        self.error = float(np.maximum(self.error, difference.max()))

    def tensors(self) -> dict[str, Tensor]:
        """How many count as ends (i64), and how far the next observations are from the last ones (f32): both 0."""
        return {
            "truncations_stored_as_ends": torch.tensor([self.ends], dtype=torch.int64),
            "last_observation_error": torch.tensor([self.error], dtype=torch.float32),
        }


class ReplayBuffer:
    """The latest transitions in a ring, sampled uniformly with replacement from NumPy's global generator.

    The second axis is that of the environments, of which there is one: sampling draws an index into it as
    well, and both draws are part of the random stream.
    """

    def __init__(
        self,
        size: int,
        observation_shape: tuple[int, ...],
        action_shape: tuple[int, ...],
        action_type: DTypeLike,
    ) -> None:
        self.observations = np.zeros((size, 1, *observation_shape), dtype=np.float32)
        self.next_observations = np.zeros((size, 1, *observation_shape), dtype=np.float32)
        self.actions = np.zeros((size, 1, *action_shape), dtype=action_type)
        self.rewards = np.zeros((size, 1), dtype=np.float32)
        self.terminations = np.zeros((size, 1), dtype=np.float32)
        self.position = 0
        self.full = False

    def add(
        self,
        observation: NDArray[Any],
        next_observation: NDArray[Any],
        action: NDArray[Any],
        reward: NDArray[np.float64],
        termination: NDArray[np.bool_],
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full."""
        self.observations[self.position] = observation
        self.next_observations[self.position] = next_observation
        self.actions[self.position] = action.reshape(self.actions.shape[1:])
        self.rewards[self.position] = reward
        self.terminations[self.position] = termination
        self.position += 1
        if self.position == len(self.observations):
            self.full = True
            self.position = 0

    def latest(self) -> tuple[NDArray[np.float32], float]:
        """The next observation and the termination flag of the transition that was added last."""
        row = self.position - 1
        return self.next_observations[row, 0], float(self.terminations[row, 0])

    def __len__(self) -> int:
        """How many transitions there are to sample from."""
        return len(self.observations) if self.full else self.position

    def sample(self, batch_size: int) -> Batch:
        """A minibatch of copies."""
        rows = np.random.randint(0, len(self), size=batch_size)
        columns = np.random.randint(0, 1, size=batch_size)
        return Batch(
            observations=torch.tensor(self.observations[rows, columns]),
            next_observations=torch.tensor(self.next_observations[rows, columns]),
            actions=torch.tensor(self.actions[rows, columns]),
            rewards=torch.tensor(self.rewards[rows, columns].reshape(-1, 1)),
            terminations=torch.tensor(self.terminations[rows, columns].reshape(-1, 1)),
        )
