"""`buffer-push` and `buffer-sample` by the Rust ring as a Python user gets it: the module's `ReplayBuffer`.

    python3 -m baselines.ours.buffer_torchforge push|sample --case ID --parameters JSON ...

Each draw makes a minibatch of its own and hands out its five fields, as the others do.
"""

from typing import Any

import numpy as np
import torchforge

from baselines.benchmarks import buffer_sample, buffers
from baselines.inputs.transitions import Fields


class Ring:
    """The module's ring."""

    def __init__(self, capacity: int, width: int) -> None:
        self._ring, self._width = torchforge.ReplayBuffer(capacity, width), width
        self.push = self._ring.push

    def laid_out(self, row: Fields) -> tuple[Any, ...]:
        """Arrays of one axis, and plain numbers."""
        observation, next_observation, action, reward, terminated, truncated = row
        flags = bool(terminated[0]), bool(truncated[0])
        return (observation[0], next_observation[0], action[0], float(reward[0]), *flags)

    def read(self, rows: slice) -> Fields:
        """Copies of these rows."""
        return Fields(*self._ring.rows(rows.start, rows.stop))

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        for row in range(len(fields.rewards)):
            self.push(*self.laid_out(Fields(*(field[row : row + 1] for field in fields))))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._ring.seed(number)

    def sample(self, size: int, _: int) -> tuple[Any, ...]:
        """A minibatch of its own, with its fields: views into its block.

        Each field is made when it is asked for, so all are. A plain tuple is the fastest.
        """
        of = self._ring.sample(size)
        return of, of.observations, of.next_observations, of.actions, of.rewards, of.terminated

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """Its arrays, whose fields lie one after another in one block a minibatch."""
        whole = [minibatch for minibatch, *_ in batches]
        blocks, size = np.stack([each.values for each in whole]), len(whole[0])
        observations, next_observations, actions, rewards, terminated, _ = np.split(
            blocks, np.cumsum([self._width, self._width, 1, 1, 1]) * size, axis=1
        )
        return [
            buffer_sample.Drawn(
                observations.reshape(-1, self._width),
                next_observations.reshape(-1, self._width),
                actions.reshape(-1, 1),
                rewards.reshape(-1),
                terminated.reshape(-1),
            )
        ]


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
