"""The module's loader delivers what the reference's does. Needs the extension module: runs inside the image."""

from pathlib import Path

import numpy as np
import pytest

from baselines.benchmarks import loader
from baselines.inputs.rows import Rows, made
from baselines.ours import loader_torchforge

TAPE = made(1024, 42)


def sizes(*, shuffled: bool) -> loader.Parameters:
    return loader.Parameters(
        rows=512, row_bytes=1024, batch=32, shuffled=shuffled, calls=16, warmup=0, repetitions=1
    )


def epochs(path: Path, parameters: loader.Parameters, workers: int, *seeds: int) -> list[list[Rows]]:
    rows = loader.dataset(TAPE, parameters.rows)
    if not path.exists():
        loader_torchforge.store(path, rows, parameters)
    found = loader_torchforge.Loader(path, parameters, workers=workers)
    batches = []
    for seed in seeds:
        found.seed(seed)
        batches.append([batch.copy() for batch in found.epoch()])
    return batches


@pytest.mark.parametrize("workers", [0, 1])
def test_stored_rows_come_bit_by_bit_in_their_order(tmp_path: Path, workers: int) -> None:
    (batches,) = epochs(tmp_path / "rows", sizes(shuffled=False), workers, 1)
    assert np.array_equal(np.concatenate(batches), loader.dataset(TAPE, 512))


def test_shuffled_rows_come_once_each_in_the_order_of_the_seed_for_any_workers(tmp_path: Path) -> None:
    orders = []
    for workers in (0, 1, 2):
        for batches in epochs(tmp_path / "rows", sizes(shuffled=True), workers, 3, 4, 3):
            rows = np.concatenate([loader.rows_of(batch, TAPE, 512) for batch in batches])
            assert sorted(rows.tolist()) == list(range(512))
            orders.append(rows.tolist())
    assert orders[0] == orders[2] != orders[1]
    assert orders[:3] == orders[3:6] == orders[6:]


def test_a_batch_in_the_file_s_order_is_never_a_copy(tmp_path: Path) -> None:
    path, parameters = tmp_path / "rows", sizes(shuffled=False)
    loader_torchforge.store(path, loader.dataset(TAPE, 512), parameters)
    found = loader_torchforge.Loader(path, parameters, workers=0)
    found.seed(1)
    batches = list(found.epoch())
    assert len({id(batch.base) for batch in batches}) == 1
