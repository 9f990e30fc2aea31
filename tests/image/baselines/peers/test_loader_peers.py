"""Other libraries' loaders deliver what NumPy's does. Needs the peers: runs inside their image."""

from pathlib import Path

import numpy as np

from baselines.benchmarks import loader
from baselines.inputs.rows import made
from baselines.peers import loader_webdataset

TAPE = made(1024, 42)


def test_webdataset_gives_each_epoch_whole_and_in_the_order_of_the_archive(tmp_path: Path) -> None:
    sizes = loader.Parameters(
        rows=512, row_bytes=1024, batch=32, shuffled=False, calls=16, warmup=0, repetitions=1
    )
    rows = loader.dataset(TAPE, 512)
    loader_webdataset.store(tmp_path / "rows", rows, sizes)
    found = loader_webdataset.Loader(tmp_path / "rows", sizes)
    for _ in range(2):
        batches = list(found.epoch())
        assert [batch.shape for batch in batches] == [(32, 1024)] * 16
        assert np.array_equal(np.concatenate(batches), rows)
