"""PyTorch's loader delivers what NumPy's does. Needs PyTorch: runs inside the image."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from baselines.benchmarks import batch_latency, loader
from baselines.inputs.rows import made
from baselines.references import loader_torch

TAPE = made(1024, 42)


@pytest.fixture(params=[(batched, workers) for batched in (False, True) for workers in (0, 1, 2)], ids=str)
def delivered(request: pytest.FixtureRequest, tmp_path: Path):
    """The rows of epochs with these seeds, which come as they are stored or shuffled."""

    def rows(*seeds: int, shuffled: bool) -> list[list[int]]:
        sizes = loader.Parameters(
            rows=512, row_bytes=1024, batch=32, shuffled=shuffled, calls=16, warmup=0, repetitions=1
        )
        loader.save(tmp_path / "rows", loader.dataset(TAPE, 512), sizes)
        batched, workers = request.param
        found = loader_torch.Loader(tmp_path / "rows", sizes, batched=batched, workers=workers)
        epochs = []
        for seed in seeds:
            found.seed(seed)
            batches = [loader.rows_of(batch, TAPE, 512) for batch in found.epoch()]
            assert {len(batch) for batch in batches} == {32}
            epochs.append(np.concatenate(batches).tolist())
        return epochs

    return rows


def test_stored_rows_come_bit_by_bit_in_their_order(delivered) -> None:
    assert delivered(1, 2, shuffled=False) == 2 * [list(range(512))]


def test_shuffled_rows_come_once_each_in_the_order_of_the_seed(delivered) -> None:
    orders = delivered(3, 4, 3, shuffled=True)
    assert [sorted(order) for order in orders] == 3 * [list(range(512))]
    assert orders[0] == orders[2] != orders[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_new_loader_ends_its_workers_within_the_call(tmp_path: Path, workers: int) -> None:
    sizes = loader.Parameters(
        does="first", rows=512, row_bytes=1024, batch=32, shuffled=False, calls=2, warmup=0, repetitions=1
    )
    loader.save(tmp_path / "rows", loader.dataset(TAPE, 512), sizes)
    operation = batch_latency.first_batch(
        lambda: loader_torch.Loader(tmp_path / "rows", sizes, batched=True, workers=workers), TAPE, sizes
    )
    before = {*multiprocessing.active_children()}
    _, inputs, outputs = operation.timed("0" * 16, 0)
    assert {*multiprocessing.active_children()} <= before
    operation.write(inputs, outputs, tmp_path)
    assert np.load(tmp_path / "delivered.npy").tolist() == [list(range(32))] * 2
