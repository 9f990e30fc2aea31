"""The reference of `format`: one .npy file for each column, by NumPy alone.

    python3 -m baselines.references.formats --case ID --parameters JSON ...

Files are mapped, so what is read of them is a view.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from baselines.benchmarks import formats
from baselines.benchmarks.formats import COLUMNS, Columns, Parameters
from baselines.contract import protocol


def write(path: Path, columns: Columns, _: Parameters) -> None:
    """Write a folder with a file for each column."""
    path.mkdir()
    for name, column in columns.items():
        np.save(path / f"{name}.npy", column)


class Opened:
    """NumPy's `memmap` of each column."""

    def __init__(self, path: Path, _: Parameters) -> None:
        self._columns: Columns = {name: np.load(path / f"{name}.npy", mmap_mode="r") for name in COLUMNS}

    def row(self, number: int) -> Columns:
        """Views, and numbers."""
        return {name: column[number] for name, column in self._columns.items()}

    def pieces(self) -> Iterator[Columns]:
        """All rows at once, which nothing reads before they are asked for."""
        yield self._columns


if __name__ == "__main__":
    formats.run(protocol.parser(__doc__).parse_args(), formats.Format(write, Opened))
