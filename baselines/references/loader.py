"""The reference of `loader`: rows of a mapped file, by NumPy alone.

    python3 -m baselines.references.loader --case ID --parameters JSON ...

An epoch's order is a permutation, and a batch is what indexing gives: a view of rows that lie together, else a copy.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from baselines.benchmarks import loader, loaders
from baselines.contract import protocol
from baselines.inputs.rows import Rows


class Loader:
    """NumPy's `memmap`, indexed."""

    def __init__(self, path: Path, sizes: loader.Parameters) -> None:
        self._rows: Rows = np.load(path, mmap_mode="r")
        self._batch, self._shuffled = sizes.batch, sizes.shuffled
        self._generator = np.random.default_rng(0)

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        self._generator = np.random.default_rng(number)

    def epoch(self) -> Iterator[Rows]:
        """Batches in the generator's order, or as they are stored."""
        order = self._generator.permutation(len(self._rows)) if self._shuffled else None
        for first in range(0, len(self._rows), self._batch):
            part = slice(first, first + self._batch)
            yield self._rows[part] if order is None else self._rows[order[part]]


if __name__ == "__main__":
    loaders.run(protocol.parser(__doc__).parse_args(), Loader)
