"""`format` by pyarrow: Arrow's own file format, and Parquet.

    python3 -m baselines.peers.formats_pyarrow arrow|parquet --case ID --parameters JSON ...

An observation is binary data of fixed size. As a list of bytes Parquet would store each byte as 32 bits. Blocks and
groups of rows are as large as the module's blocks. Nothing is compressed: random bytes gain nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from baselines.benchmarks import formats
from baselines.benchmarks.formats import Columns, Format, Parameters
from baselines.contract import protocol


def write_arrow(path: Path, columns: Columns, sizes: Parameters) -> None:
    """Write an IPC file of blocks."""
    table = _table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=sizes.block_rows)


def write_parquet(path: Path, columns: Columns, sizes: Parameters) -> None:
    """Write groups of rows, plainly: of the flag alone a dictionary makes less."""
    pq.write_table(
        _table(columns),
        path,
        row_group_size=sizes.block_rows,
        use_dictionary=["terminated"],  # type: ignore[arg-type]  # the stub knows no list
        compression="none",
        write_statistics=False,
    )


class Arrow:
    """A mapped file, whose blocks are views once they are asked for."""

    def __init__(self, path: Path, sizes: Parameters) -> None:
        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))
        self._blocks: dict[int, Columns] = {}
        self._block_rows = sizes.block_rows

    def row(self, number: int) -> Columns:
        """Views, and numbers."""
        block, place = divmod(number, self._block_rows)
        return {name: column[place] for name, column in self._block(block).items()}

    def pieces(self) -> Iterator[Columns]:
        """Its blocks."""
        return (self._block(block) for block in range(self._reader.num_record_batches))

    def _block(self, block: int) -> Columns:
        found = self._blocks.get(block)
        if found is None:
            found = self._blocks[block] = _views(self._reader.get_batch(block))
        return found


class Parquet:
    """A mapped file, whose groups of rows are decoded whenever a row of theirs is asked for."""

    def __init__(self, path: Path, _: Parameters) -> None:
        self._file = pq.ParquetFile(path, memory_map=True)
        self._group_rows = self._file.metadata.row_group(0).num_rows

    def row(self, number: int) -> Columns:
        """A row of the group that holds it."""
        group, place = divmod(number, self._group_rows)
        return {name: column[place] for name, column in self._group(group).items()}

    def pieces(self) -> Iterator[Columns]:
        """Its groups."""
        return (self._group(group) for group in range(self._file.num_row_groups))

    def _group(self, group: int) -> Columns:
        table = self._file.read_row_group(group, use_threads=False)
        (batch,) = table.combine_chunks().to_batches()
        return _views(batch)


FORMATS = {"arrow": Format(write_arrow, Arrow), "parquet": Format(write_parquet, Parquet)}


def _table(columns: Columns) -> pa.Table:
    """The columns, without a copy."""
    observations = columns["observation"]
    kind = pa.binary(observations.shape[1])
    bytes_of = pa.py_buffer(observations.reshape(-1).data)
    arrays: dict[str, pa.Array[Any]] = {
        "observation": pa.FixedSizeBinaryArray.from_buffers(kind, len(observations), [None, bytes_of])
    }
    arrays |= {name: pa.array(column) for name, column in columns.items() if name not in arrays}
    fields = [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def _views(batch: pa.RecordBatch) -> Columns:
    """The columns as NumPy's arrays, without a copy."""
    return {name: _view(batch.column(name)) for name in batch.schema.names}


def _view(column: Any) -> NDArray[Any]:
    if not pa.types.is_fixed_size_binary(column.type):
        found: NDArray[Any] = column.to_numpy()
        return found
    width = column.type.byte_width
    first = column.offset * width
    of_buffer = np.frombuffer(column.buffers()[1], np.uint8)
    return of_buffer[first : first + len(column) * width].reshape(-1, width)


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("format", choices=FORMATS, help="of the files")
    options = parser.parse_args()
    pa.set_cpu_count(protocol.threads())
    formats.run(options, FORMATS[options.format])


if __name__ == "__main__":
    main()
