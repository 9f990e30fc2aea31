"""`sequences` as fast as NumPy does it: all numbers of a step in one row, and a sequence as one piece of memory.

    python3 -m baselines.tuned.sequences --case ID --parameters JSON ...

A view has the rows of a sequence as one long row, so that each sequence is one copy. Views of its columns are handed out.
To draw fractions and scale them takes less time than the call that draws whole numbers.
"""

from typing import Any

import numpy as np

from baselines.benchmarks import sequences
from baselines.benchmarks.buffer_sample import Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields, Values


class Sampler:
    """A full ring."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        self._length, self._width = sizes.length, sizes.observation
        self.seed(0)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        table = np.concatenate([field.reshape(len(field), -1) for field in fields[:-1]], axis=1)
        windows = np.lib.stride_tricks.sliding_window_view(table.reshape(-1), self._length * table.shape[1])
        self._windows: Values = windows[:: table.shape[1]]
        self._starts = sequences.starts(fields, self._length)
        # An array, which multiplies faster than a number.
        self._count = np.array(len(self._starts), np.float64)

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._random = np.random.default_rng(number).random

    def sample(self, transitions: int, _: int) -> tuple[Any, ...]:
        """The steps of sequences, one after another: views of one array, in a plain tuple, which is the fastest."""
        # A fraction is below 1 by so much that no product is rounded up to the count.
        places = (self._random(transitions // self._length) * self._count).astype(np.int64)
        rows = self._windows[self._starts[places]].reshape(transitions, -1)
        action = 2 * self._width
        return (
            rows[:, : self._width],
            rows[:, self._width : action],
            rows[:, action : action + 1],
            rows[:, action + 1],
            rows[:, action + 2],
        )

    def gathered(self, draws: list[Any]) -> list[Drawn]:
        """The draws, with names."""
        return [Drawn(*each) for each in draws]


if __name__ == "__main__":
    sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
