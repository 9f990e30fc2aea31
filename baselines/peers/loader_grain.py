"""`loader` by Google's Grain: row numbers go through its pipeline, and each batch is gathered at once.

    python3 -m baselines.peers.loader_grain --case ID --parameters JSON ...

A function gathers the rows of a batch by their numbers (`batch_fn`), because Grain spends microseconds of Python on each
element. A source of mapped rows, which Grain stacks, was slower in every case. Grain's own ArrayRecord was slower still.
Grain reads in the calling thread (`num_threads=0`), as it advises for data in memory. One thread and its default of 16
were slower. Its shuffle is a permutation of all rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import grain

from baselines.benchmarks import loader, loaders
from baselines.benchmarks.npy_mapping import mapped
from baselines.contract import protocol
from baselines.inputs.rows import Rows

# A seed of its shuffle has 32 bits.
_SEEDS = 2**32


class Loader:
    """Grain's pipeline over a mapped file."""

    def __init__(self, path: Path, sizes: loader.Parameters) -> None:
        self._rows: Rows = mapped(path)
        self._batch, self._shuffled = sizes.batch, sizes.shuffled

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        numbers = grain.MapDataset.range(len(self._rows))
        if self._shuffled:
            numbers = numbers.shuffle(seed=number % _SEEDS)
        batches = numbers.batch(self._batch, batch_fn=self._gathered)
        self._batches = batches.to_iter_dataset(grain.ReadOptions(num_threads=0))

    def epoch(self) -> Iterator[Rows]:
        """Copies of rows, in the order of its shuffle or as they are stored."""
        return iter(self._batches)

    def _gathered(self, numbers: Sequence[int]) -> Rows:
        return self._rows.take(numbers, axis=0)


if __name__ == "__main__":
    loaders.run(protocol.parser(__doc__).parse_args(), Loader)
