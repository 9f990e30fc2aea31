"""Batches for PyTorch's own `DataLoader`. Importing this module needs PyTorch.

batches = torch.utils.data.DataLoader(torchforge.torch.Batches(loader), batch_size=None)
"""

from collections.abc import Iterator

from torchforge.data import DataLoader

try:
    import torch
except ImportError as error:
    raise ImportError(
        f"torchforge.torch needs PyTorch ({error}); install it with: pip install torch"
    ) from error

__all__ = ["Batches"]


# Types are checked where PyTorch is not installed.
class Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Each batch of a loader as tensors that share its memory. Give PyTorch's `DataLoader` `batch_size=None`."""

    def __init__(self, loader: DataLoader) -> None:
        """The batches of a loader, which has workers of its own: they are threads."""
        self.loader = loader

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        """An epoch.

        Raises:
            RuntimeError: another process asks for batches.
        """
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError(
                "each process would load every batch, because the loader's threads do the work; give torch's "
                "DataLoader num_workers=0, and torchforge's workers"
            )
        for batch in self.loader:
            yield {name: torch.from_dlpack(array) for name, array in batch.items()}

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self.loader)
