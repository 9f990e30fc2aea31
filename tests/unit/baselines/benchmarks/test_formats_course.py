import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import formats
from baselines.benchmarks.formats import COLUMNS, Columns, Format
from baselines.contract import protocol
from baselines.contract.numbers import digest, numbers
from baselines.inputs.rows import TAPE_ROWS, made, write
from baselines.peers import formats_pyarrow, formats_safetensors
from baselines.references import formats as reference
from baselines.tuned import formats as tuned
from runner.gate import Judgement, judge
from runner.records.failure import FailureKind
from tests.fuzz import corpus

ROWS, ROW_BYTES = 256, 16
NUMPY = Format(reference.write, reference.Opened)
FORMATS = {
    "numpy": NUMPY,
    "numpy-tuned": Format(tuned.write, tuned.Opened),
    "safetensors": Format(formats_safetensors.write, formats_safetensors.Opened),
    **formats_pyarrow.FORMATS,
}
CALLS = {"write": 1, "open": 4, "row": 16, "scan": 1}
NONCE = f"{1:016x}"
EACH_FORMAT = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
EACH_CASE = pytest.mark.parametrize("does", CALLS)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """35 rows in a block, and fewer in the last."""
    monkeypatch.setattr(formats, "_BLOCK_BYTES", 1024)


def values(does: str) -> dict[str, Any]:
    a_call = ROWS if does in ("write", "scan") else 1
    sizes = {"does": does, "rows": ROWS, "row_bytes": ROW_BYTES, "rows_a_call": a_call}
    return {**sizes, "calls": CALLS[does], "warmup": 1, "repetitions": 2}


def columns() -> Columns:
    return formats.dataset(made(ROW_BYTES, 42), ROWS)


def outputs(folder: Path, form: Format, does: str, repetition: int = 0) -> dict[str, np.ndarray]:
    """What the course of a case writes of a repetition, which must have the digest that was said before."""
    sizes, path = formats.Parameters(**values(does)), folder / "rows"
    folder.mkdir(exist_ok=True)
    if not path.exists():
        form.write(path, columns(), sizes)
    operation = formats.course(form, path, columns(), sizes)
    _, inputs, found = operation.timed(NONCE, repetition)
    said = digest(operation.digested(found))
    (folder / "out").mkdir(exist_ok=True)
    operation.write(inputs, found, folder / "out")
    files = {file.stem: np.load(file) for file in (folder / "out").iterdir()}
    assert said == digest([files["marks"]])
    return files


def sum_of(rows: Mapping[str, Any], row: int) -> int:
    words = rows["observation"][row].tobytes()
    of_words = sum(int.from_bytes(words[at : at + 8], "little") for at in range(0, ROW_BYTES, 8))
    return of_words + sum(int(rows[name][row]) for name in COLUMNS[1:])


def test_a_row_follows_from_its_number_and_the_tape() -> None:
    tape, found = made(ROW_BYTES, 42), columns()
    assert [int.from_bytes(row[:8].tobytes(), "little") for row in found["observation"]] == list(range(ROWS))
    assert (found["observation"][TAPE_ROWS : 2 * TAPE_ROWS, 8:] == tape[:, 8:]).all()
    assert [found[name].dtype.name for name in COLUMNS] == ["uint8", "int64", "float32", "uint8"]
    assert found["action"].tolist() == found["reward"].tolist() == list(range(ROWS))
    assert np.flatnonzero(found["terminated"]).tolist() == [199]


@EACH_FORMAT
@EACH_CASE
def test_every_format_delivers_what_was_written_and_its_marks_are_their_definition(
    tmp_path: Path, form: Format, does: str
) -> None:
    drawn = [int(number) for number in numbers(NONCE, 0, CALLS[does])]
    rows, found = dict(columns()), outputs(tmp_path, form, does)
    if does in ("write", "scan"):
        if does == "write":
            rows["action"][drawn[0] % ROWS] = drawn[0] >> 1
        assert found["delivered"].tolist() == [list(range(ROWS))]
        # Four rows of what was written are read back, the changed one among them.
        read = range(drawn[0], drawn[0] + ROWS, ROWS // 4) if does == "write" else range(ROWS)
        sums = [sum(sum_of(rows, row % ROWS) for row in read)]
    else:
        assert found["delivered"].tolist() == [number % ROWS for number in drawn]
        sums = [sum_of(rows, number % ROWS) for number in drawn]
    wanted = [(number | 1) * each % 2**64 for number, each in zip(drawn, sums, strict=True)]
    assert found["marks"].tolist() == wanted


@EACH_CASE
def test_a_repetition_has_marks_of_its_own_and_again_the_same(tmp_path: Path, does: str) -> None:
    marks = [outputs(tmp_path, NUMPY, does, repetition)["marks"].tolist() for repetition in (0, 1, 0)]
    assert marks[0] == marks[2] != marks[1]


@EACH_FORMAT
def test_files_of_many_rows_are_as_large_as_their_columns(tmp_path: Path, form: Format) -> None:
    sizes = formats.Parameters(**{**values("scan"), "rows": 65536, "rows_a_call": 65536})
    rows = formats.dataset(made(ROW_BYTES, 42), sizes.rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(formats, "_BLOCK_BYTES", 2**22)
        form.write(tmp_path / "rows", rows, sizes)
    assert formats.size(tmp_path / "rows", rows) == pytest.approx(1, abs=0.05)


@EACH_FORMAT
def test_a_launch_serves_all_cases_out_of_one_file(
    tmp_path: Path, form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--seed", "1", "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    for does in CALLS:
        (tmp_path / "in" / does).mkdir(parents=True)
        write(values(does), 42, tmp_path / "in" / does)
        words += ["--case", does, "--parameters", json.dumps(values(does))]
    options: argparse.Namespace = protocol.parser("").parse_args(words)
    formats.run(options, form)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counts = {event["case"]: event["counts"]["rows"] for event in events if event["event"] == "measurement"}
    assert counts == {"write": ROWS, "open": 1, "row": 1, "scan": ROWS}
    for does in CALLS:
        assert (np.load(tmp_path / "out" / does / "delivered.npy") >= 0).all()


class Changed:
    """The reference's rows, one number of which is another."""

    column, place = "observation", 0

    def __init__(self, path: Path, sizes: formats.Parameters) -> None:
        self._opened = reference.Opened(path, sizes)

    def row(self, number: int) -> Columns:
        return self._changed({name: np.array(value) for name, value in self._opened.row(number).items()})

    def pieces(self) -> Iterator[Columns]:
        for piece in self._opened.pieces():
            yield self._changed({name: np.array(value) for name, value in piece.items()})

    def _changed(self, rows: dict[str, np.ndarray]) -> Columns:
        rows[self.column].reshape(-1)[self.place] += 1
        return rows


class Swapped(Changed):
    """All rows, two of which changed places."""

    def row(self, number: int) -> Columns:
        return self._opened.row(number)

    def _changed(self, rows: dict[str, np.ndarray]) -> Columns:
        order = np.arange(ROWS)
        order[[3, 4]] = order[[4, 3]]
        return {name: column[order] for name, column in rows.items()}


class Fewer(Swapped):
    """All rows but the last."""

    def _changed(self, rows: dict[str, np.ndarray]) -> Columns:
        return {name: column[:-1] for name, column in rows.items()}


class Wider(Changed):
    """Actions of another type."""

    def _changed(self, rows: dict[str, np.ndarray]) -> Columns:
        return {**rows, "action": rows["action"].astype(np.float64)}


def judged(folder: Path, form: Format, does: str) -> Judgement:
    """What the gate of the matrix says of a format that is not the reference's."""
    parameters = values(does)
    outputs(folder / "mine", form, does)
    outputs(folder / "theirs", NUMPY, does)
    return judge(
        corpus.shipped().benchmarks["format"],
        parameters=parameters,
        measurement={"metrics": {"seconds": [1e-3]}, "counts": {"rows": parameters["rows_a_call"]}},
        wall_seconds=60.0,
        outputs=folder / "mine" / "out",
        reference=folder / "theirs" / "out",
    )


@EACH_CASE
def test_the_gate_passes_another_format(tmp_path: Path, does: str) -> None:
    assert judged(tmp_path, FORMATS["numpy-tuned"], does).failure is None


@EACH_CASE
@pytest.mark.parametrize("column", COLUMNS)
def test_the_gate_fails_where_one_number_of_a_row_is_another(
    tmp_path: Path, does: str, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Changed, "column", column)
    failure = judged(tmp_path, Format(reference.write, Changed), does).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_OUTPUT
    assert "delivered.npy" in failure.detail


@pytest.mark.parametrize("does", ["write", "scan"])
@pytest.mark.parametrize("wrong", [Swapped, Fewer, Wider])
def test_the_gate_fails_where_rows_change_places_are_missing_or_have_another_type(
    tmp_path: Path, does: str, wrong: type[Changed]
) -> None:
    failure = judged(tmp_path, Format(reference.write, wrong), does).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_OUTPUT
    assert "delivered.npy" in failure.detail


def test_the_gate_fails_where_a_file_is_larger_than_its_columns(tmp_path: Path) -> None:
    def padded(path: Path, rows: Columns, sizes: formats.Parameters) -> None:
        reference.write(path, rows, sizes)
        (path / "padding").write_bytes(bytes(1000))

    failure = judged(tmp_path, Format(padded, reference.Opened), "write").failure
    assert failure is not None
    assert "size.npy" in failure.detail


@pytest.mark.parametrize(
    ("does", "wrong", "said"),
    [
        ("row", {"does": "append"}, "'does' must be write, open, row or scan"),
        ("row", {"row_bytes": 20}, "'row_bytes' must be a multiple of 8"),
        ("row", {"rows_a_call": ROWS}, "'rows_a_call' must be 'rows' for write and scan"),
        ("scan", {"rows_a_call": 1}, "'rows_a_call' must be 'rows' for write and scan"),
        ("write", {"calls": 2}, "'calls' must be 1 for write"),
        ("row", {"rows": 0}, "'rows' must be at least 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(does: str, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        formats.Parameters(**{**values(does), **wrong})
