"""`loader` as fast as NumPy does it: a plain array over the mapping, and `take`.

    python3 -m baselines.tuned.loader --case ID --parameters JSON ...

`take` gathers whole rows, without the general case of an index.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from baselines.benchmarks import loader, loaders
from baselines.benchmarks.npy_mapping import mapped
from baselines.contract import protocol
from baselines.inputs.rows import Rows


class Loader:
    """A mapped file as a plain array."""

    def __init__(self, path: Path, sizes: loader.Parameters) -> None:
        self._rows: Rows = mapped(path)
        self._batch, self._shuffled = sizes.batch, sizes.shuffled
        self._generator = np.random.default_rng(0)

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        self._generator = np.random.default_rng(number)

    def epoch(self) -> Iterator[Rows]:
        """Batches in the generator's order, or as they are stored."""
        rows, batch = self._rows, self._batch
        if not self._shuffled:
            return (rows[first : first + batch] for first in range(0, len(rows), batch))
        order = self._generator.permutation(len(rows)).reshape(-1, batch)
        return (rows.take(numbers, axis=0) for numbers in order)


if __name__ == "__main__":
    loaders.run(protocol.parser(__doc__).parse_args(), Loader)
