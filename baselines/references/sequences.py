"""The reference of `sequences`: the rows that sequences begin with, and NumPy's indexing.

python3 -m baselines.references.sequences --case ID --parameters JSON ...
"""

from typing import Any

import numpy as np

from baselines.benchmarks import sequences
from baselines.benchmarks.buffer_sample import Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Sampler:
    """A full ring."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        self._steps = np.arange(sizes.length)
        self._generator = np.random.default_rng(0)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        self._fields = Fields(*(field.copy() for field in fields))
        self._starts = sequences.starts(fields, len(self._steps))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._generator = np.random.default_rng(number)

    def sample(self, transitions: int, _: int) -> Drawn:
        """The steps of sequences, one after another."""
        first = self._generator.choice(self._starts, size=transitions // len(self._steps))
        rows = (first[:, None] + self._steps).reshape(-1)
        return Drawn(*(field[rows] for field in self._fields[:-1]))

    def gathered(self, draws: list[Any]) -> list[Drawn]:
        """The draws as they are."""
        return draws


if __name__ == "__main__":
    sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
