"""Other libraries' loaders deliver what NumPy's does. Needs the peers: runs inside their image."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import loader
from baselines.inputs.rows import made
from baselines.peers import loader_datasets, loader_grain, loader_webdataset

TAPE = made(1024, 42)
# What shuffles, with what writes its file.
SHUFFLING = pytest.mark.parametrize(
    ("make", "store"),
    [(loader_datasets.Loader, loader_datasets.store), (loader_grain.Loader, loader.save)],
    ids=["datasets", "grain"],
)
EACH = pytest.mark.parametrize(
    ("make", "store"),
    [
        (loader_datasets.Loader, loader_datasets.store),
        (loader_grain.Loader, loader.save),
        (loader_webdataset.Loader, loader_webdataset.store),
    ],
    ids=["datasets", "grain", "webdataset"],
)


def made_by(make: loader.Make, store: loader.Store, folder: Path, *, shuffled: bool) -> loader.Loader:
    sizes = loader.Parameters(
        rows=512, row_bytes=1024, batch=32, shuffled=shuffled, calls=16, warmup=0, repetitions=1
    )
    store(folder / "rows", loader.dataset(TAPE, 512), sizes)
    return make(folder / "rows", sizes)


def epoch(found: loader.Loader, seed: int) -> list[Any]:
    """The numbers of the rows of an epoch."""
    found.seed(seed)
    batches = list(found.epoch())
    assert [batch.shape for batch in batches] == [(32, 1024)] * 16
    return [number for batch in batches for number in loader.rows_of(batch, TAPE, 512).tolist()]


@EACH
def test_each_epoch_is_whole_and_in_the_order_of_the_file(
    make: loader.Make, store: loader.Store, tmp_path: Path
) -> None:
    found = made_by(make, store, tmp_path, shuffled=False)
    for seed in (1, 3):
        assert epoch(found, seed) == [*range(512)]


@SHUFFLING
def test_a_shuffled_epoch_is_a_draw_of_all_rows(
    make: loader.Make, store: loader.Store, tmp_path: Path
) -> None:
    found = made_by(make, store, tmp_path, shuffled=True)
    for seed in range(1, 2**64, 2**62):
        order = epoch(found, seed)
        assert sorted(order) == [*range(512)]
        # Six times the deviation, as the gate allows it.
        assert np.abs(loader.order(np.array(order))).max() < 8.5


@SHUFFLING
def test_the_seed_alone_decides_the_order(make: loader.Make, store: loader.Store, tmp_path: Path) -> None:
    found = made_by(make, store, tmp_path, shuffled=True)
    order = epoch(found, 1)
    assert epoch(found, 3) != order
    assert epoch(found, 1) == order


@EACH
def test_a_new_loader_reads_a_first_batch_and_is_left(
    make: loader.Make, store: loader.Store, tmp_path: Path
) -> None:
    for _ in range(3):
        found = made_by(make, store, tmp_path, shuffled=False)
        found.seed(1)
        assert loader.rows_of(next(iter(found.epoch())), TAPE, 512).tolist() == [*range(32)]
