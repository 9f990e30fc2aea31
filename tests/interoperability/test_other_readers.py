"""Our dataset files in polars and DuckDB: `make interoperability` runs this with the packages that it locks."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from torchforge.data import write_dataset

ROWS = 100_000
Columns = dict[str, NDArray[np.generic]]


@pytest.fixture
def columns() -> Columns:
    """Columns of vectors, frames, whole numbers and booleans."""
    generator = np.random.default_rng(2)
    return {
        "observation": generator.standard_normal((ROWS, 4)).astype(np.float32),
        "frame": generator.integers(0, 256, (ROWS, 5, 6, 3), np.uint8),
        "action": generator.integers(-3, 9, ROWS),
        "reward": generator.standard_normal(ROWS),
        "terminated": generator.integers(0, 2, ROWS).astype(np.uint8),
    }


@pytest.fixture
def file(columns: Columns, tmp_path: Path) -> Path:
    """A file of four blocks, the last of which is shorter."""
    path = tmp_path / "steps.arrow"
    write_dataset(path, columns, block_rows=30_000)
    return path


def test_polars_reads_every_column_with_its_type_and_shape(columns, file):
    frame = pl.read_ipc(file)
    assert frame.columns == list(columns)
    for name, written in columns.items():
        found = frame[name].to_numpy()
        assert found.dtype == written.dtype
        np.testing.assert_array_equal(found, written)


def test_polars_filters_a_file_that_it_scans(columns, file):
    found = pl.scan_ipc(file).filter(pl.col("terminated") == 1).select(pl.col("action").sum()).collect()
    assert found.item() == columns["action"][columns["terminated"] == 1].sum()


def test_duckdb_queries_the_table_that_pyarrow_opened_without_a_copy(columns, file):
    pool = pa.default_memory_pool()
    before, ever = pool.bytes_allocated(), pool.total_bytes_allocated()
    with pa.memory_map(str(file)) as source, duckdb.connect() as connection:
        table = pa.ipc.open_file(source).read_all()
        assert pool.bytes_allocated() == before
        connection.register("steps", table)
        found = connection.execute(
            "SELECT count(*), sum(action), sum(terminated), sum(frame[5][6][3]), sum(reward), "
            "sum(observation[4]) FROM steps WHERE action > 0"
        ).fetchone()
        # Descriptions of the blocks take some 20 kB for any number of rows. A copy of the smallest column takes 100 kB.
        assert pool.total_bytes_allocated() - ever < min(written.nbytes for written in columns.values())
    some = {name: written[columns["action"] > 0] for name, written in columns.items()}
    assert found[:3] == (len(some["action"]), some["action"].sum(), some["terminated"].sum())
    assert found[3] == some["frame"][:, 4, 5, 2].sum()
    assert found[4:] == pytest.approx((some["reward"].sum(), some["observation"][:, 3].sum(dtype=np.float64)))
