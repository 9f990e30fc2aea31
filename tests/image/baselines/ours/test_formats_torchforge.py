"""The module's files deliver what the reference's do. Needs the extension module: runs inside the image."""

from pathlib import Path

import numpy as np
import pytest

from baselines.benchmarks import formats
from baselines.benchmarks.formats import Format
from baselines.inputs.rows import made
from baselines.ours import formats_torchforge
from baselines.references import formats as reference

# Several blocks of 148 rows, and a shorter one.
ROWS, ROW_BYTES = 500, 28224
CALLS = {"write": 1, "open": 4, "row": 32, "scan": 1}


def outputs(folder: Path, form: Format, does: str) -> dict[str, np.ndarray]:
    a_call = ROWS if does in ("write", "scan") else 1
    sizes = formats.Parameters(
        **{"does": does, "rows": ROWS, "row_bytes": ROW_BYTES, "rows_a_call": a_call},
        **{"calls": CALLS[does], "warmup": 0, "repetitions": 1},
    )
    (folder / "out").mkdir(parents=True)
    columns = formats.dataset(made(ROW_BYTES, 42), ROWS)
    form.write(folder / "rows", columns, sizes)
    operation = formats.course(form, folder / "rows", columns, sizes)
    _, inputs, found = operation.timed("9f1e2e6dcd540ab7", 3)
    operation.write(inputs, found, folder / "out")
    return {file.stem: np.load(file) for file in (folder / "out").iterdir()}


@pytest.mark.parametrize("does", CALLS)
def test_rows_and_marks_are_the_reference_s(tmp_path: Path, does: str) -> None:
    ours = outputs(tmp_path / "ours", Format(formats_torchforge.write, formats_torchforge.Opened), does)
    theirs = outputs(tmp_path / "theirs", Format(reference.write, reference.Opened), does)
    for name in ("marks", "delivered"):
        assert np.array_equal(ours[name], theirs[name])
    assert (ours["delivered"] >= 0).all()
    assert ours["size"] == pytest.approx(theirs["size"], abs=0.05)
