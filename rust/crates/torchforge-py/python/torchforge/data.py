"""Datasets in Arrow files, and batches of them as NumPy arrays.

    write_dataset("steps.arrow", {"observation": observations, "action": actions})
    loader = DataLoader(MmapDataset("steps.arrow"), batch_size=256, shuffle=True, seed=1)
    for batch in loader:
        observations = torch.from_dlpack(batch["observation"])

The files are Arrow's (Feather version 2), so pyarrow, polars and DuckDB open them too.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from torchforge import _torchforge
from torchforge._dlpack import SupportsDLPack

__all__ = ["Batch", "Column", "DataLoader", "MmapDataset", "write_dataset"]

AnyPath: TypeAlias = str | os.PathLike[str]
Batch: TypeAlias = dict[str, NDArray[Any]]


class Column(NamedTuple):
    """A column: the type of its numbers, and the shape of one row."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class MmapDataset:
    """A dataset in one or several Arrow files, mapped into memory and never copied as a whole.

    A mapped file must not be changed in place: replace it by renaming another one onto its name.

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
        # The process that unpickles it may have another working directory.
        self._paths = [str(Path(path).absolute()) for path in several]
        self._positioned = positioned
        self.columns: Mapping[str, Column] = {
            name: Column(np.dtype(dtype), tuple(shape)) for name, dtype, shape in self._files.columns()
        }
        # Mapped once more and privately: what is written into an array of it stays in this process.
        self._bytes = [] if positioned else [np.asarray(_mapped(path)) for path in several]

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
        return len(self._files)

    def __getitem__(self, row: int) -> Batch:
        """One row by its number, below 0 from the end, as views of its file.

        What is written into a view stays in this process. Later views show it, and shuffled batches do not.

        Raises:
            IndexError: there is no such row.
            TypeError: the number is no whole number.
            ValueError: rows are read through the files.
        """
        row, rows = index(row), len(self)
        if not -rows <= row < rows:
            raise IndexError(f"there is no row {row}; the dataset has {rows}")
        if self._positioned:
            raise ValueError("rows are read through the files, so no view can be lent; use a DataLoader")
        number = row % rows
        lent: Batch = {}
        for place, (name, column) in enumerate(self.columns.items()):
            file, start = self._files.place(place, number)
            lent[name] = np.ndarray(column.shape, column.dtype, self._bytes[file], start)
        return lent

    def _block(self, first: int) -> "_Block":
        """This row and all that follow it in its block."""
        rows, columns = self._files.together(first), []
        for place, (name, column) in enumerate(self.columns.items()):
            file, start = self._files.place(place, first)
            columns.append((name, _shaped(self._bytes[file], column, rows, start)))
        return _Block(first, first + rows, columns)


class _Block(NamedTuple):
    """Rows that lie one behind another, as views of their file. To slice one costs less than to make it."""

    first: int
    end: int
    columns: Sequence[tuple[str, NDArray[Any]]]

    def lent(self, first: int, rows: int) -> Batch:
        """Views of some of them."""
        part = slice(first - self.first, first - self.first + rows)
        return {name: array[part] for name, array in self.columns}


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

    def __iter__(self) -> Iterator[Batch]:
        """Begin the next epoch, or go on where the loader was resumed. It ends an iteration under way."""
        columns, block = self._dataset.columns, _Block(0, 0, ())
        for rows, lying in self._loader.begin():
            if isinstance(lying, int):
                if not block.first <= lying < block.end:
                    block = self._dataset._block(lying)
                yield block.lent(lying, rows)
            else:
                memory, starts = lying
                yield {
                    name: _shaped(memory, column, rows, start)
                    for (name, column), start in zip(columns.items(), starts, strict=True)
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
        return self._loader.state()

    def resume(self, state: bytes) -> None:
        """Go on at a saved state in the next iteration.

        Raises:
            ValueError: the state is none, or belongs to another dataset, batch size, seed or order.
        """
        self._loader.resume(state)


def write_dataset(
    path: AnyPath, columns: Mapping[str, SupportsDLPack], *, block_rows: int | None = None
) -> None:
    """Write columns into an Arrow file, which gets its name when it is whole.

    Args:
        path: of the file.
        columns: an array for each column, whose first axis is that of the rows; booleans as uint8. Tensors on the CPU of
            any library that has DLPack are written too.
        block_rows: rows of a block, about 4 MiB by default. A batch in the order of the file is a view where it lies in
            one block, so a multiple of the batch size is best.

    Raises:
        OSError: the file cannot be written.
        ValueError: an array has another type, layout or number of rows.
    """
    _torchforge.write_rows(os.fspath(path), list(columns.items()), block_rows=block_rows)


def _mapped(path: AnyPath) -> NDArray[np.uint8]:
    return np.memmap(path, np.uint8, mode="c")


def _shaped(memory: NDArray[np.uint8], column: Column, rows: int, start: int) -> NDArray[Any]:
    """The view of a column's rows that begin at a byte."""
    return np.ndarray((rows, *column.shape), column.dtype, memory, start)
