"""`buffer-push` and `buffer-sample` as fast as NumPy does them: all numbers of a transition in one row.

    python3 -m baselines.tuned.buffer push|sample --case ID --parameters JSON ...

A minibatch is one `take` of rows, and views of its columns are handed out. To draw fractions and scale them takes less
time than the call that draws whole numbers. A push writes through views of memory, in which a slice is assigned faster
than in an array.
"""

from collections.abc import Callable
from itertools import cycle
from struct import Struct
from typing import Any

import numpy as np

from baselines.benchmarks import buffer_sample, buffers
from baselines.inputs.transitions import Fields, Values

# Action, reward and the two flags.
_NUMBERS = Struct("4f")
_ROWS = np.dtype(np.int64)
# Values that share a line of the processor's caches.
_LINE = 16

# Keeps an observation, the next one, the action, the reward and the two flags.
Push = Callable[[Values, Values, float, float, float, float], None]


class Ring:
    """The latest transitions, drawn uniformly with replacement."""

    def __init__(self, capacity: int, width: int) -> None:
        self._table = aligned(capacity, 2 * width + 4)
        self.push = pushing(self._table, width)
        # An array, which multiplies faster than a number.
        self._capacity = np.array(capacity, np.float64)
        action = 2 * width
        columns = (
            slice(width),
            slice(width, action),
            slice(action, action + 1),
            *range(action + 1, action + 4),
        )
        self._columns = tuple((slice(None), each) for each in columns)
        # A draw leaves out the last field, whether the episode was cut off.
        self._drawn = self._columns[:-1]
        self.seed(0)

    def laid_out(self, row: Fields) -> tuple[Any, ...]:
        """Observations as arrays of one axis, and the rest as plain numbers."""
        observation, next_observation, *numbers = row
        return (observation[0], next_observation[0], *(number.item() for number in numbers))

    def read(self, rows: slice) -> Fields:
        """Views of these rows."""
        table = self._table[rows]
        return Fields(*(table[each] for each in self._columns))

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        for place, values in zip(self.read(slice(None)), fields, strict=True):
            place[:] = values

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._random = np.random.default_rng(number).random

    def sample(self, size: int, _: int) -> tuple[Any, ...]:
        """Views of a copy of drawn transitions.

        A plain tuple: to name its parts would take a part of the draw's time.
        """
        # A fraction is below 1 by so much that no product is rounded up to the capacity.
        rows = self._table.take((self._random(size) * self._capacity).astype(_ROWS), 0)
        observations, next_observations, actions, rewards, terminated = self._drawn
        return (
            rows[observations],
            rows[next_observations],
            rows[actions],
            rows[rewards],
            rows[terminated],
        )

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """The minibatches, with names."""
        return [buffer_sample.Drawn(*each) for each in batches]


def aligned(rows: int, values: int) -> Values:
    """Zeros, (rows, values or a few more): each row begins with a line of the caches."""
    row = -(-values // _LINE) * _LINE
    room = np.zeros(rows * row + _LINE, np.float32)
    first = -room.ctypes.data // room.itemsize % _LINE
    return room[first : first + rows * row].reshape(rows, row)


def pushing(table: Values, width: int) -> Push:
    """What keeps transitions in the rows of a table, one after another and round."""
    values: Any = table.reshape(-1).data
    as_bytes, pack, row = values.cast("B"), _NUMBERS.pack_into, table.shape[1]
    # Where each row's observations and numbers lie. `cycle` keeps what the first round makes.
    following = cycle(
        (slice(at, at + width), slice(at + width, at + 2 * width), values.itemsize * (at + 2 * width))
        for at in range(0, table.size, row)
    ).__next__

    def push(
        observation: Values,
        next_observation: Values,
        action: float,
        reward: float,
        terminated: float,
        truncated: float,
    ) -> None:
        first, second, numbers = following()
        values[first] = observation
        values[second] = next_observation
        pack(as_bytes, numbers, action, reward, terminated, truncated)

    return push


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
