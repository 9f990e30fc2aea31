"""`loader` by PyTorch's own `DataLoader`, over a mapped file.

    python3 -m baselines.references.loader_torch each|batched --workers N --case ID --parameters JSON ...

`each` asks the dataset for one row at a time, and the default function stacks them. `batched` asks for all rows of a
batch at once (`__getitems__`), and the dataset gathers them. Workers are processes. They live from the first epoch on.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, RandomSampler, SequentialSampler

from baselines.benchmarks import loader, loaders
from baselines.benchmarks.npy_mapping import mapped
from baselines.contract import protocol
from baselines.inputs.rows import Rows


# Types are checked where PyTorch is not installed.
class Each(Dataset):  # type: ignore[misc]
    """Views of single rows."""

    def __init__(self, path: Path) -> None:
        # Private pages: PyTorch warns of memory that must not be written to.
        self.rows: Rows = mapped(path, private=True)
        self._tensor = torch.from_numpy(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Tensor:
        """One row."""
        return self._tensor[row]


class Batched(Each):
    """The rows of a batch, gathered by one call."""

    def __getitems__(self, rows: list[int]) -> Tensor:
        """Copies of these rows."""
        return torch.from_numpy(self.rows.take(rows, axis=0))


def whole(batch: Tensor) -> Tensor:
    """What is a batch already."""
    return batch


class Loader:
    """PyTorch's loader, whose sampler has a generator of its own."""

    def __init__(self, path: Path, sizes: loader.Parameters, *, batched: bool, workers: int) -> None:
        torch.set_num_threads(protocol.threads())
        data = Batched(path) if batched else Each(path)
        self._generator = torch.Generator()
        self._loader = DataLoader(
            data,
            sizes.batch,
            sampler=RandomSampler(data, generator=self._generator)
            if sizes.shuffled
            else SequentialSampler(data),
            collate_fn=whole if batched else None,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

    def seed(self, number: int) -> None:
        """Begin the order of an epoch."""
        self._generator.manual_seed(number)

    def epoch(self) -> Iterator[Rows]:
        """Batches as arrays that share the tensors' memory."""
        return (batch.numpy() for batch in self._loader)


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("how", choices=("each", "batched"), help="what the dataset is asked for")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes that load (default 0)")
    options: argparse.Namespace = parser.parse_args()
    loaders.run(options, partial(Loader, batched=options.how == "batched", workers=options.workers))


if __name__ == "__main__":
    main()
