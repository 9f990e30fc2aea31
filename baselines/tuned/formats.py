"""`format` as fast as NumPy does it: plain arrays over a mapping of each file.

python3 -m baselines.tuned.formats --case ID --parameters JSON ...
"""

from collections.abc import Iterator
from pathlib import Path

from baselines.benchmarks import formats
from baselines.benchmarks.formats import COLUMNS, Columns, Parameters
from baselines.benchmarks.npy_mapping import mapped
from baselines.contract import protocol
from baselines.references.formats import write


class Opened:
    """The columns as plain arrays."""

    def __init__(self, path: Path, sizes: Parameters) -> None:
        self._columns: Columns = {name: mapped(path / f"{name}.npy") for name in COLUMNS}
        self._rows, self._block_rows = sizes.rows, sizes.block_rows

    def row(self, number: int) -> Columns:
        """Views, and numbers."""
        return {name: column[number] for name, column in self._columns.items()}

    def pieces(self) -> Iterator[Columns]:
        """Rows that fit into a cache together, for all sums of them."""
        for first in range(0, self._rows, self._block_rows):
            part = slice(first, first + self._block_rows)
            yield {name: column[part] for name, column in self._columns.items()}


if __name__ == "__main__":
    formats.run(protocol.parser(__doc__).parse_args(), formats.Format(write, Opened))
