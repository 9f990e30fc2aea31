"""`format` by safetensors: one file with a tensor for each column.

    python3 -m baselines.peers.formats_safetensors --case ID --parameters JSON ...

The file is mapped by the library, and what is read of it is a copy.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save_file

from baselines.benchmarks import formats
from baselines.benchmarks.formats import COLUMNS, Columns, Parameters
from baselines.contract import protocol


def write(path: Path, columns: Columns, _: Parameters) -> None:
    """Write all columns."""
    save_file(dict(columns), path)


class Opened:
    """Slices of the tensors."""

    def __init__(self, path: Path, sizes: Parameters) -> None:
        # Its stub has no types.
        file: Any = safe_open(path, framework="numpy")
        self._columns = {name: file.get_slice(name) for name in COLUMNS}
        self._rows, self._block_rows = sizes.rows, sizes.block_rows

    def row(self, number: int) -> Columns:
        """Copies of the row's numbers."""
        return {name: column[number : number + 1][0] for name, column in self._columns.items()}

    def pieces(self) -> Iterator[Columns]:
        """Copies that fit into a cache, in memory that the one before used."""
        for first in range(0, self._rows, self._block_rows):
            part = slice(first, min(first + self._block_rows, self._rows))
            yield {name: column[part] for name, column in self._columns.items()}


if __name__ == "__main__":
    formats.run(protocol.parser(__doc__).parse_args(), formats.Format(write, Opened))
