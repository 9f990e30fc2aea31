"""`loader` by webdataset: rows in a tar archive, read from its front to its end.

    python3 -m baselines.peers.loader_webdataset --case ID --parameters JSON ...

It shuffles within a buffer, whose order is not a draw of all rows. So the matrix leaves the shuffled cases out. One
function makes a batch out of the bytes of its samples, without a decoder for each.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import webdataset

from baselines.benchmarks import loader, loaders
from baselines.contract import protocol
from baselines.inputs.rows import Rows

# The extension of a row's file in the archive.
_ROW = "row"


def store(path: Path, rows: Rows, _: loader.Parameters) -> None:
    """Write an archive with a file for each row."""
    with path.open("wb") as file, webdataset.TarWriter(file) as archive:
        for number, row in enumerate(rows):
            archive.write({"__key__": f"{number:08}", _ROW: row.tobytes()})


def batch_of(samples: Sequence[tuple[bytes]]) -> Rows:
    """The rows of some samples."""
    return np.frombuffer(b"".join(row for (row,) in samples), np.uint8).reshape(len(samples), -1)


class Loader:
    """webdataset's pipeline."""

    def __init__(self, path: Path, sizes: loader.Parameters) -> None:
        self._batches = (
            webdataset.WebDataset(str(path), shardshuffle=False)
            .to_tuple(_ROW)
            .batched(sizes.batch, collation_fn=batch_of)
        )

    def seed(self, number: int) -> None:
        """Its order has no seed."""

    def epoch(self) -> Iterator[Rows]:
        """Batches in the order of the archive."""
        return iter(self._batches)


if __name__ == "__main__":
    loaders.run(protocol.parser(__doc__).parse_args(), Loader, store)
