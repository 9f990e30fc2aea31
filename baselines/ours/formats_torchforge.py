"""`format` by the module: Arrow files that `write_dataset` writes and `MmapDataset` maps.

    python3 -m baselines.ours.formats_torchforge --case ID --parameters JSON ...

The writer stores a checksum of each block, and waits for the disk.
"""

from collections.abc import Iterable
from pathlib import Path

import torchforge

from baselines.benchmarks import formats
from baselines.benchmarks.formats import Columns, Parameters
from baselines.contract import protocol


def write(path: Path, columns: Columns, sizes: Parameters) -> None:
    """Write the dataset in blocks of the module's own size, which a batch of the scan fits."""
    torchforge.write_dataset(path, columns, block_rows=sizes.block_rows)


class Opened:
    """The module's dataset."""

    def __init__(self, path: Path, sizes: Parameters) -> None:
        self._dataset = torchforge.MmapDataset(path)
        self._block_rows = sizes.block_rows

    def row(self, number: int) -> Columns:
        """Views of the file."""
        return self._dataset[number]

    def pieces(self) -> Iterable[Columns]:
        """Its blocks, as the module's loader lends them."""
        return torchforge.DataLoader(self._dataset, self._block_rows)


if __name__ == "__main__":
    formats.run(protocol.parser(__doc__).parse_args(), formats.Format(write, Opened))
