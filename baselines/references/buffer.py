"""The reference of `buffer-push` and `buffer-sample`: a ring in NumPy as Stable-Baselines3's `ReplayBuffer` keeps it.

    python3 -m baselines.references.buffer push|sample --case ID --parameters JSON ...

Each field has an axis of environments, here of one; a draw of rows is followed by one of environments.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import buffer_sample, buffers
from baselines.inputs.transitions import Fields


class Ring:
    """The latest transitions, drawn uniformly with replacement from NumPy's global generator."""

    def __init__(self, capacity: int, width: int) -> None:
        self._observations = np.zeros((capacity, 1, width), np.float32)
        self._next_observations = np.zeros((capacity, 1, width), np.float32)
        self._actions = np.zeros((capacity, 1, 1), np.float32)
        self._rewards, self._terminated, self._truncated = np.zeros((3, capacity, 1), np.float32)
        self._position = 0

    def laid_out(self, row: Fields) -> Fields:
        """As vectors of one environment give it."""
        return row

    def push(
        self,
        observation: NDArray[np.float32],
        next_observation: NDArray[np.float32],
        action: NDArray[np.float32],
        reward: NDArray[np.float32],
        terminated: NDArray[np.float32],
        truncated: NDArray[np.float32],
    ) -> None:
        """Keep one transition; each field is copied first, as Stable-Baselines3 does."""
        self._observations[self._position] = np.array(observation)
        self._next_observations[self._position] = np.array(next_observation)
        self._actions[self._position] = np.array(action)
        self._rewards[self._position] = np.array(reward)
        self._terminated[self._position] = np.array(terminated)
        self._truncated[self._position] = np.array(truncated)
        self._position += 1
        if self._position == len(self._rewards):
            self._position = 0

    def read(self, rows: slice) -> Fields:
        """Views of these rows."""
        return Fields(
            self._observations[rows, 0],
            self._next_observations[rows, 0],
            self._actions[rows, 0],
            self._rewards[rows, 0],
            self._terminated[rows, 0],
            self._truncated[rows, 0],
        )

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        for place, values in zip(self.read(slice(None)), fields, strict=True):
            place[:] = values

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        np.random.seed(number % 2**32)

    def sample(self, size: int, _: int) -> buffer_sample.Drawn:
        """Copies of drawn transitions."""
        rows = np.random.randint(0, len(self._rewards), size=size)
        environments = np.random.randint(0, 1, size=size)
        return buffer_sample.Drawn(
            self._observations[rows, environments, :],
            self._next_observations[rows, environments, :],
            self._actions[rows, environments, :],
            self._rewards[rows, environments].reshape(-1, 1),
            self._terminated[rows, environments].reshape(-1, 1),
        )

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """The minibatches as they are."""
        return batches


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
