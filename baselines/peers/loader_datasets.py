"""`loader` by Hugging Face's `datasets`: an Arrow file that is mapped, read in batches as Arrow.

    python3 -m baselines.peers.loader_datasets --case ID --parameters JSON ...

A row is binary data of fixed size: shuffled rows took longer as lists of bytes. The format `numpy` makes an array of each
row, so a batch is taken as Arrow and viewed. A shuffle draws indices of all rows and keeps them in memory. Nothing here
asks for the Hub or writes to a cache.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from baselines.benchmarks import loader, loaders
from baselines.contract import protocol
from baselines.inputs.rows import Rows

_ROW = "row"


def store(path: Path, rows: Rows, sizes: loader.Parameters) -> None:
    """Write an Arrow stream with one record batch, so that no batch of rows lies in two."""
    row = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(sizes.row_bytes), len(rows), [None, pa.py_buffer(rows.data)]
    )
    table = pa.table({_ROW: row})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


class Loader:
    """A dataset of one column."""

    def __init__(self, path: Path, sizes: loader.Parameters) -> None:
        self._dataset = datasets.Dataset.from_file(str(path)).with_format("arrow")
        self._batch, self._shuffled = sizes.batch, sizes.shuffled
        self._seed = 0

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        self._seed = number

    def epoch(self) -> Iterator[Rows]:
        """Batches in the order of its shuffle, or views of the file."""
        ordered = (
            self._dataset.shuffle(seed=self._seed, keep_in_memory=True, load_from_cache_file=False)
            if self._shuffled
            else self._dataset
        )
        return (rows_of(table.column(_ROW)) for table in ordered.iter(self._batch))


def rows_of(column: Any) -> Rows:
    """The bytes of an Arrow column's rows, copied only where they lie in several pieces."""
    rows = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    size = rows.type.byte_width
    found: Rows = np.frombuffer(rows.buffers()[1], np.uint8, len(rows) * size, rows.offset * size)
    return found.reshape(len(rows), size)


def main() -> None:
    """Serve the cases."""
    options = protocol.parser(__doc__).parse_args()
    pa.set_cpu_count(protocol.threads())
    loaders.run(options, Loader, store)


if __name__ == "__main__":
    main()
