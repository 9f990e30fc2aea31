"""A dataset file is Arrow's own, and needs no copy there."""

from pathlib import Path

import pyarrow as pa

# rust/crates/torchforge-py/tests/test_data.py holds the writer to these bytes.
FILE = Path(__file__).parents[2] / "rust/crates/torchforge-py/tests/files/for_pyarrow.arrow"


def test_pyarrow_opens_a_dataset_without_a_copy() -> None:
    before = pa.total_allocated_bytes()
    with pa.memory_map(str(FILE)) as source:
        table = pa.ipc.open_file(source).read_all()
        assert pa.total_allocated_bytes() == before
        table.validate(full=True)
        assert table["action"].to_pylist() == list(range(10))
        assert table["observation"].to_pylist() == [[row] * 4 for row in range(10)]
        assert table["terminated"].to_pylist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
