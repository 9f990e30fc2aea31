"""`loader` by the Rust loader as a Python user gets it: the module's `DataLoader` over its `MmapDataset`.

    python3 -m baselines.ours.loader_torchforge --workers N --case ID --parameters JSON ...

Rows as they are stored are views of the file; shuffled rows are gathered into memory of the batch's own. Workers are
threads. A loader has one seed, so each epoch has a loader of its own, whose workers are started before the clock.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torchforge

from baselines.benchmarks import loader, loaders
from baselines.contract import protocol
from baselines.inputs.rows import Rows

# About the module's own size of a block.
_BLOCK_BYTES = 2**22


def store(path: Path, rows: Rows, sizes: loader.Parameters) -> None:
    """Write the dataset. A batch lies in one block, as the module's documentation advises."""
    batches = max(1, _BLOCK_BYTES // (sizes.batch * sizes.row_bytes))
    torchforge.write_dataset(path, {"row": rows}, block_rows=batches * sizes.batch)


class Loader:
    """The module's loader."""

    def __init__(self, path: Path, sizes: loader.Parameters, *, workers: int) -> None:
        self._dataset = torchforge.MmapDataset(path)
        self._batch, self._shuffled, self._workers = sizes.batch, sizes.shuffled, workers

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        self._loader = torchforge.DataLoader(
            self._dataset, self._batch, shuffle=self._shuffled, seed=number, workers=self._workers
        )

    def epoch(self) -> Iterator[Rows]:
        """Its batches, which have one column."""
        return (batch["row"] for batch in self._loader)


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="threads that load (default 0)")
    options: argparse.Namespace = parser.parse_args()
    loaders.run(options, partial(Loader, workers=options.workers), store)


if __name__ == "__main__":
    main()
