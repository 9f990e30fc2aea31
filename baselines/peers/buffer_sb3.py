"""`buffer-push` and `buffer-sample` by Stable-Baselines3 2.7.1: its `ReplayBuffer`.

    python3 -m baselines.peers.buffer_sb3 push|sample --case ID --parameters JSON ...

It hands out PyTorch's tensors.
"""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import ReplayBuffer

from baselines.benchmarks import buffer_sample, buffers
from baselines.contract import protocol
from baselines.inputs.transitions import Fields

# What a minibatch of its has, in the order of `Drawn`.
_DRAWN = ("observations", "next_observations", "actions", "rewards", "dones")


class Ring:
    """Its ring, of one environment."""

    def __init__(self, capacity: int, width: int) -> None:
        torch.set_num_threads(protocol.threads())
        observations, actions = (Box(-np.inf, np.inf, (size,), np.float32) for size in (width, 1))
        self._ring = ReplayBuffer(capacity, observations, actions, device="cpu")
        self.push = self._ring.add

    def laid_out(self, row: Fields) -> tuple[Any, ...]:
        """As its algorithms call it: one flag of an ended episode, and in the information why it ended."""
        observation, next_observation, action, reward, terminated, truncated = row
        infos = [{"TimeLimit.truncated": bool(truncated[0])}]
        return (observation, next_observation, action, reward, terminated + truncated, infos)

    def read(self, rows: slice) -> Fields:
        """Views of these rows; the two flags are what it makes of its own."""
        ring = self._ring
        ended, timeouts = ring.dones[rows, 0], ring.timeouts[rows, 0]
        return Fields(
            ring.observations[rows, 0],
            ring.next_observations[rows, 0],
            ring.actions[rows, 0],
            ring.rewards[rows, 0],
            ended * (1 - timeouts),
            timeouts,
        )

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        for row in range(len(fields.rewards)):
            self.push(*self.laid_out(Fields(*(field[row : row + 1] for field in fields))))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        np.random.seed(number % 2**32)

    def sample(self, size: int, _: int) -> Any:
        """A minibatch of its own."""
        return self._ring.sample(size)

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """Its tensors as arrays."""
        fields = ([getattr(batch, name) for batch in batches] for name in _DRAWN)
        return [buffer_sample.Drawn(*(torch.cat(field).numpy() for field in fields))]


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
