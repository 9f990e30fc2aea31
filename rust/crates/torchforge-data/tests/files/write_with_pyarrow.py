"""Writes with_pyarrow.arrow beside this file: what a Python program's dataset looks like."""

from pathlib import Path

import pyarrow as pa


def lists(values: list[int] | list[float], kind: pa.DataType, *shape: int) -> pa.Array:
    array = pa.array(values, kind)
    for length in reversed(shape):
        array = pa.FixedSizeListArray.from_arrays(array, length)
    return array


def main() -> None:
    rows = range(10)
    table = pa.table(
        {
            "observation": lists([float(row) for row in rows for _ in range(4)], pa.float32(), 4),
            "action": pa.array([-row for row in rows], pa.int64()),
            "done": pa.array([int(row == 9) for row in rows], pa.uint8()),
            "frame": lists(list(range(60)), pa.uint8(), 2, 3),
        }
    )
    path = Path(__file__).with_name("with_pyarrow.arrow")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=6)


if __name__ == "__main__":
    main()
