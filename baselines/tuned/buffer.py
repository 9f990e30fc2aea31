"""`buffer-push` and `buffer-sample` as fast as NumPy does them: no axis of environments, no copy before a copy.

    python3 -m baselines.tuned.buffer push|sample --case ID --parameters JSON ...

Rows are drawn by NumPy's newer generator and gathered by `take`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import buffer_sample, buffers
from baselines.inputs.transitions import Fields


class Ring:
    """The latest transitions, drawn uniformly with replacement."""

    def __init__(self, capacity: int, width: int) -> None:
        self._observations = np.zeros((capacity, width), np.float32)
        self._next_observations = np.zeros((capacity, width), np.float32)
        # The four numbers of a row lie side by side: one store for a push, one gather for a draw.
        self._numbers = np.zeros((capacity, 4), np.float32)
        self._capacity = capacity
        self._position = 0
        self._generator = np.random.default_rng(0)

    def laid_out(self, row: Fields) -> tuple[Any, ...]:
        """Observations as arrays of one axis, and the rest as plain numbers."""
        observation, next_observation, *numbers = row
        return (observation[0], next_observation[0], tuple(number.item() for number in numbers))

    def push(
        self,
        observation: NDArray[np.float32],
        next_observation: NDArray[np.float32],
        numbers: tuple[float, float, float, float],
    ) -> None:
        """Keep one transition."""
        at = self._position
        self._observations[at] = observation
        self._next_observations[at] = next_observation
        self._numbers[at] = numbers
        self._position = at + 1 if at + 1 < self._capacity else 0

    def read(self, rows: slice) -> Fields:
        """Views of these rows."""
        numbers = self._numbers[rows]
        return Fields(
            self._observations[rows], self._next_observations[rows], numbers[:, :1], *numbers[:, 1:].T
        )

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        self._observations[:] = fields.observations
        self._next_observations[:] = fields.next_observations
        self._numbers[:] = np.stack([fields.actions[:, 0], *fields[3:]], axis=1)

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._generator = np.random.default_rng(number)

    def sample(self, size: int, _: int) -> tuple[Any, ...]:
        """Copies of drawn transitions; the numbers of a row are views into one copy.

        A plain tuple: to name its parts would take a part of the draw's time.
        """
        rows = self._generator.integers(self._capacity, size=size)
        numbers = self._numbers.take(rows, axis=0)
        return (
            self._observations.take(rows, axis=0),
            self._next_observations.take(rows, axis=0),
            numbers[:, :1],
            numbers[:, 1],
            numbers[:, 2],
        )

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """The minibatches, with names."""
        return [buffer_sample.Drawn(*each) for each in batches]


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
