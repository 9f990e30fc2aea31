"""`replay` by Stable-Baselines3 2.7.1: its `NStepReplayBuffer`. It has no prioritised draws.

It hands out PyTorch's tensors.
"""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import NStepReplayBuffer

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import GAMMA, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields

# A minibatch's fields, in the order of `Drawn`.
_DRAWN = ("observations", "next_observations", "actions", "rewards", "dones", "discounts")


class Sampler:
    """Its ring, of one environment."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        torch.set_num_threads(protocol.threads())
        observations, actions = (Box(-np.inf, np.inf, (size,), np.float32) for size in (sizes.observation, 1))
        self._ring = NStepReplayBuffer(
            sizes.capacity, observations, actions, device="cpu", n_steps=sizes.steps, gamma=GAMMA
        )

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        for row in range(len(fields.rewards)):
            observation, next_observation, action, reward, terminated, truncated = (
                field[row : row + 1] for field in fields
            )
            infos = [{"TimeLimit.truncated": bool(truncated[0])}]
            self._ring.add(observation, next_observation, action, reward, terminated + truncated, infos)

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        np.random.seed(number % 2**32)

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """Its tensors as arrays. It computes discounts in f32 or f64, as NumPy's version has it."""
        fields = ([getattr(batch, name) for batch in batches] for name in _DRAWN)
        return [Drawn(*(torch.cat(field).numpy().astype(np.float32, copy=False) for field in fields))]

    def call(self, size: int, _: int) -> Any:
        """A minibatch of its own."""
        return self._ring.sample(size)


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
