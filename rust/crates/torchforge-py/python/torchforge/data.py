"""Datasets in Arrow files, and batches of them as NumPy arrays.

    write_dataset("steps.arrow", {"observation": observations, "action": actions})
    loader = DataLoader(MmapDataset("steps.arrow"), batch_size=256, shuffle=True, seed=1)
    for batch in loader:
        observations = torch.from_dlpack(batch["observation"])

The files are Arrow's (Feather version 2), so pyarrow and polars open them too; DuckDB queries pyarrow's table.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from mmap import ACCESS_COPY, mmap
from operator import index
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from torchforge import _torchforge
from torchforge._dlpack import SupportsDLPack

__all__ = ["Batch", "Column", "DataLoader", "MmapDataset", "write_dataset"]

# Blocks whose arrays are kept. A file of another writer may have very many.
_MOST_BLOCKS = 1024
# Entries of what a loader says of batches that lie in the files.
_LENT = 4

AnyPath: TypeAlias = str | os.PathLike[str]
Batch: TypeAlias = dict[str, NDArray[Any]]


class Column(NamedTuple):
    """A column: the type of its numbers, and the shape of one row."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class MmapDataset:
    """A dataset in one or several Arrow files, mapped into memory and never copied as a whole.

    A mapped file must not be changed in place: replace it by renaming another one onto its name. The length of a file is
    compared before a row, a shuffled batch or the batches of one block are handed out.

    Another process that it is sent to (`pickle`, `multiprocessing`) opens the files itself.
    """

    def __init__(self, paths: AnyPath | Sequence[AnyPath], *, positioned: bool = False) -> None:
        """Open the files, whose rows follow one another.

        Args:
            paths: of one file, or of several with the same columns.
            positioned: rows are read through the files into memory of their own. A file that shrinks meanwhile is then an
                error; otherwise it ends the process.

        Raises:
            OSError: a file cannot be read.
            ValueError: a file is no dataset, or a damaged one; the message names the offset and what was expected there.
        """
        several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        self._files = _torchforge.MappedFiles([os.fspath(path) for path in several], positioned)
        self._rows = len(self._files)
        # The process that unpickles it may have another working directory.
        self._paths = [str(Path(path).absolute()) for path in several]
        self._positioned = positioned
        self.columns: Mapping[str, Column] = {
            name: Column(np.dtype(dtype), tuple(shape)) for name, dtype, shape in self._files.columns()
        }
        # Mapped once more and privately: what is written into an array of it stays in this process.
        self._bytes = [] if positioned else [_mapped(path) for path in several]
        self._firsts: list[int] = []
        self._blocks: dict[int, _Block] = {}
        # Held where a block is kept in the place of another: two threads may not give up the same one.
        self._keeping = Lock()

    def verify(self) -> int:
        """Read all rows, and return how many blocks were compared with their checksum.

        Raises:
            ValueError: a block differs from its checksum.
        """
        return self._files.verify()

    def __reduce__(self) -> tuple[Any, ...]:
        """By its paths: rows are never pickled."""
        return partial(type(self), positioned=self._positioned), (self._paths,)

    def __len__(self) -> int:
        """Rows."""
        return self._rows

    def __getitem__(self, row: int) -> Batch:
        """One row by its number, below 0 from the end, as views of its file.

        What is written into a view stays in this process. Later views show it, and shuffled batches do not.

        Raises:
            IndexError: there is no such row.
            OSError: a file is shorter than it was.
            TypeError: the number is no whole number.
            ValueError: rows are read through the files.
        """
        row, rows = index(row), self._rows
        if not -rows <= row < rows:
            raise IndexError(f"there is no row {row}; the dataset has {rows}")
        if self._positioned:
            raise ValueError("rows are read through the files, so no view can be lent; use a DataLoader")
        block = self._holding(row % rows)
        self._files.check(block.file)
        place = row % rows - block.first
        # With the dots a number is a view as well, and no copy.
        return {name: array[place, ...] for name, array in block.columns}

    def _holding(self, row: int) -> "_Block":
        """The block of a row, as it was made before where it is among the latest."""
        if not self._firsts:
            self._firsts = self._files.firsts()
        number = bisect_right(self._firsts, row) - 1
        block = self._blocks.get(number)
        if block is None:
            made = self._block(self._firsts[number])
            with self._keeping:
                # Another thread may have kept the same block meanwhile.
                block = self._blocks.setdefault(number, made)
                if len(self._blocks) > _MOST_BLOCKS:
                    del self._blocks[next(iter(self._blocks))]
        return block

    def _block(self, first: int) -> "_Block":
        """This row and all that follow it in its block."""
        rows, (file, starts) = self._files.together(first), self._files.places(first)
        columns = [
            (name, _shaped(self._bytes[file], column, rows, start))
            for (name, column), start in zip(self.columns.items(), starts, strict=True)
        ]
        return _Block(file, first, columns)


class _Block(NamedTuple):
    """Rows that lie one behind another, as views of their file. To slice one costs less than to make it."""

    file: int
    first: int
    columns: Sequence[tuple[str, NDArray[Any]]]


class DataLoader:
    """Batches of a dataset as dictionaries of NumPy arrays, epoch after epoch.

    Each iteration is an epoch. Rows in the order of the file are views of it, without a copy. Shuffled rows are
    gathered once, into memory of the batch's own. Either way the arrays may be written to, and the file never changes.

    The order follows from the seed and the epoch alone, for any number of workers, which are threads. Other threads of
    Python run while a batch is waited for.

    A pickled loader goes on where this one is.
    """

    def __init__(
        self,
        dataset: MmapDataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        workers: int = 0,
        prefetch: int = 2,
    ) -> None:
        """A loader whose first epoch is number 0.

        Args:
            dataset: what is loaded.
            batch_size: rows of a batch.
            shuffle: draw each row once an epoch; otherwise rows come as they are stored.
            seed: of the orders.
            drop_last: leave the last rows of an epoch out where they make no whole batch.
            workers: threads that make batches ahead. Without one a batch is made when it is asked for, which is faster
                where it is small.
            prefetch: batches that the workers may be ahead.

        Raises:
            ValueError: a number is out of its range.
        """
        self._dataset = dataset
        self._options: dict[str, Any] = {
            "batch_size": batch_size,
            "shuffle": shuffle,
            "seed": seed,
            "drop_last": drop_last,
            "prefetch": prefetch,
            "workers": workers,
        }
        self._loader = _torchforge.RowLoader(dataset._files, **self._options)
        # The iteration under way; the run that was handed out last, by its number, and how many of its batches.
        self._epoch: _torchforge.RowBatches | None = None
        self._handed = 0, 0

    def __iter__(self) -> Iterator[Batch]:
        """Begin the next epoch, or go on where the loader was resumed. It ends an iteration under way."""
        dataset, epoch = self._dataset, self._loader.begin()
        self._epoch = epoch
        for given in epoch:
            if isinstance(given, dict):
                yield given
            elif len(given) == _LENT:
                rows, first, batches, number = given
                block = dataset._holding(first)
                columns, begin = block.columns, first - block.first
                for handed in range(1, batches + 1):
                    self._handed, end = (number, handed), begin + rows
                    yield {name: array[begin:end] for name, array in columns}
                    begin = end
                    if self._epoch is not epoch:
                        # Another iteration began, or the loader was resumed: the epoch refuses to go on.
                        break
            else:
                rows, memory, starts = given
                yield {
                    name: _shaped(memory, column, rows, start)
                    for (name, column), start in zip(dataset.columns.items(), starts, strict=True)
                }

    def __reduce__(self) -> tuple[Any, ...]:
        """By its dataset, its options and the state of its iteration."""
        return partial(type(self), self._dataset, **self._options), (), self.state()

    def __setstate__(self, state: bytes) -> None:
        """Go on where the pickled loader was."""
        self.resume(state)

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self._loader)

    def state(self) -> bytes:
        """Where the iteration is. A loader that resumes there yields exactly the batches that are left."""
        return self._loader.state(*self._handed)

    def resume(self, state: bytes) -> None:
        """Go on at a saved state in the next iteration.

        Raises:
            ValueError: the state is none, or belongs to another dataset, batch size, seed or order.
        """
        self._loader.resume(state)
        self._epoch = None


def write_dataset(
    path: AnyPath, columns: Mapping[str, SupportsDLPack], *, block_rows: int | None = None
) -> None:
    """Write columns into an Arrow file, which gets its name when it is whole.

    Args:
        path: of the file.
        columns: an array for each column, whose first axis is that of the rows; booleans as uint8. Tensors on the CPU of
            any library that has DLPack are written too. Other threads of Python run meanwhile, and may not change them.
        block_rows: rows of a block, about 4 MiB by default. A batch in the order of the file is a view where it lies in
            one block, so a multiple of the batch size is best.

    Raises:
        OSError: the file cannot be written.
        ValueError: an array has another type, layout or number of rows.
    """
    _torchforge.write_rows(os.fspath(path), list(columns.items()), block_rows=block_rows)


def _mapped(path: AnyPath) -> NDArray[np.uint8]:
    with Path(path).open("rb", buffering=0) as file:
        return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_COPY), np.uint8)


def _shaped(memory: NDArray[np.uint8], column: Column, rows: int, start: int) -> NDArray[Any]:
    """The view of a column's rows that begin at a byte."""
    return np.ndarray((rows, *column.shape), column.dtype, memory, start)
