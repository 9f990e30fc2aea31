"""The exported table: CSV and Parquet hold the same, and what they hold is what the records say."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DOUBLER, program, small_matrix
from example_records import json_of, make_record
from hypothesis import given
from hypothesis import strategies as st
from pseudo_terminal import ROOT, forge_bench
from pyarrow import parquet

from examples import examples
from runner.cli.main import main
from runner.records.record import Record, record_of
from runner.report.export.table import Column, table_of_records, table_of_repetitions
from runner.report.export.write import as_csv, as_parquet
from runner.system.errors import PythonNotReady, UsageError
from runner.verify.read import read_records

PUBLISHED = ROOT / "results" / "published" / "2026-11-21-quick"


FORMULA = ("=", "+", "-", "@", "\t", "\r")


def without_apostrophe(text: str) -> str:
    """A text as it was, before it was kept from being a formula."""
    assert not text.startswith(FORMULA)
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA) else text


def read_csv(content: bytes, table: tuple[Column, ...]) -> dict[str, list]:
    """The columns of a CSV, each value read as its column's type."""
    header, *body = csv.reader(io.StringIO(content.decode(), newline=""))
    assert [without_apostrophe(name) for name in header] == [column.name for column in table]
    read = {
        str: without_apostrophe,
        int: int,
        float: float,
        bool: lambda text: {"true": True, "false": False}[text],
    }
    return {
        column.name: [read[column.type](row[index]) if row[index] else None for row in body]
        for index, column in enumerate(table)
    }


def read_parquet(content: bytes) -> dict[str, list]:
    """The columns of a Parquet file; an empty text is null, as in a CSV."""
    columns = parquet.read_table(io.BytesIO(content)).to_pydict()
    return {name: [None if value == "" else value for value in values] for name, values in columns.items()}


names = st.text("abc_", min_size=1, max_size=6).map(lambda text: f"x{text}")
figures = st.floats(0, 1e15) | st.integers(0, 10**15)
amounts = st.integers(0, 2**53 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
or_null = lambda strategy: st.none() | strategy  # noqa: E731


@st.composite
def records(draw) -> Record:
    """A record of the shape that the store reads; texts and figures of every kind."""
    data = json_of(make_record())
    measurement = None
    if draw(st.booleans()):
        measurement = {
            "event": "measurement",
            "case": "T=128",
            "metrics": draw(
                st.dictionaries(
                    names, figures | st.lists(figures, min_size=1, max_size=5), min_size=1, max_size=3
                )
            ),
            "counts": draw(st.dictionaries(names, amounts, min_size=1, max_size=2)),
            "memory": {
                "vmhwm_bytes": draw(or_null(st.integers(1, 2**53 - 1))),
                "cgroup_peak_bytes": draw(or_null(st.integers(1, 2**53 - 1))),
            },
        }
    failure = st.fixed_dictionaries({"kind": st.just("signal"), "detail": texts})
    key = draw(st.sampled_from("123")) * 64
    data |= {
        "id": f"20260101T000000Z-{draw(st.integers(0, 2**63)):016x}",
        "key": key,
        "parameters": draw(st.dictionaries(names, texts | figures, max_size=2)),
        "command": draw(st.lists(texts.filter(bool), min_size=1, max_size=3)),
        "execution": {"kind": "native", "emulator": draw(or_null(texts))},
        "software": draw(st.dictionaries(texts, or_null(texts), max_size=3)),
        "machine": draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "cpu_model": or_null(texts),
                    "logical_cpus": or_null(amounts),
                    "smt": or_null(st.booleans()),
                    "simd": or_null(st.just(["avx", "fma"])),
                    "caches": or_null(st.just({"L1d": "32K"})),
                },
            )
        ),
        "measurement": measurement,
        "episodes": draw(
            or_null(
                st.lists(
                    st.floats(-1e3, 1e3).map(lambda each: {"step": 1, "length": 1, "return": each}),
                    max_size=130,
                )
            )
        ),
        "gate": draw(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "check": texts,
                        "passed": st.booleans(),
                        "detail": texts,
                        "share": or_null(st.floats(0, 10)),
                    }
                ),
                max_size=3,
            )
        ),
        "failure": draw(failure if measurement is None else or_null(failure)),
    }
    data["cell"]["seed"] = draw(st.integers(0, 2**32 - 1))
    data["launch"] |= {
        "wall_seconds": draw(figures),
        "exit_code": draw(or_null(st.just(0))),
        "out_of_memory": draw(st.booleans()),
        "state": {"load_1m": draw(or_null(figures))},
    }
    return record_of(data)


@given(st.lists(records(), max_size=5))
@examples(30)
def test_csv_and_parquet_hold_the_same_values(found):
    for table in (table_of_records(found), table_of_repetitions(found)):
        from_csv, from_parquet = read_csv(as_csv(table), table), read_parquet(as_parquet(table))
        assert from_csv == from_parquet
        # Types are as declared even where a column holds nothing.
        schema = parquet.read_schema(io.BytesIO(as_parquet(table)))
        kinds = {str: "string", int: "int64", float: "double", bool: "bool"}
        assert [str(kind) for kind in schema.types] == [kinds[column.type] for column in table]


@given(st.lists(records(), min_size=1, max_size=5, unique_by=lambda record: record.identifier))
@examples(25)
def test_columns_say_what_the_records_say(found):
    table = {column.name: column.values for column in table_of_records(found)}
    assert table["id"] == tuple(each.identifier for each in found)
    assert table["seed"] == tuple(each.seed for each in found)
    for row, record in enumerate(found):
        metrics = record.metrics
        for name in metrics:
            values = sorted(record.values(name))
            assert table[f"metric.{name}.n"][row] == len(values)
            assert table[f"metric.{name}.min"][row] == values[0]
            assert table[f"metric.{name}.max"][row] == values[-1]
            assert values[0] <= table[f"metric.{name}.median"][row] <= values[-1]
        absent = {each for each in table if each.startswith("metric.") and each.split(".")[1] not in metrics}
        assert all(table[each][row] is None for each in absent)
        checks = [check.passed for check in record.gate]
        assert table["gate.passed"][row] == (all(checks) if checks else None)
        returns = [each.total for each in record.played][-100:]
        mean = table["episodes.mean_return_last_100"][row]
        assert mean == (pytest.approx(sum(returns) / len(returns), abs=1e-9) if returns else None)
    newest = {record.key: record.identifier for record in found}
    assert table["newest_of_its_key"] == tuple(newest[each.key] == each.identifier for each in found)


@given(st.lists(records(), max_size=4, unique_by=lambda record: record.identifier))
@examples(25)
def test_there_is_a_row_for_every_repetition_and_the_rows_hold_every_value(found):
    table = {column.name: column.values for column in table_of_repetitions(found)}
    expected = []
    for record in found:
        metrics = record.metrics
        rows = max((len(record.values(name)) for name in metrics), default=0)
        expected += [(record.identifier, number + 1) for number in range(rows)]
    assert list(zip(table["id"], table["repetition"], strict=True)) == expected
    for record in found:
        mine = [row for row, identifier in enumerate(table["id"]) if identifier == record.identifier]
        for name, value in record.metrics.items():
            column = [table[f"metric.{name}"][row] for row in mine]
            if isinstance(value, tuple):
                assert column[: len(value)] == [float(each) for each in value]
                assert set(column[len(value) :]) <= {None}
            else:
                assert column == [float(value)] * len(mine)


@pytest.fixture
def forge(capfdbinary):
    def call(*arguments: str) -> tuple[int, bytes, str]:
        code = main(["export", *arguments])
        captured = capfdbinary.readouterr()
        return code, captured.out, captured.err.decode()

    return call


def test_the_published_records_are_one_table_on_stdout(forge):
    code, out, err = forge("--results", str(PUBLISHED))
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out.decode(), newline="")))
    published = read_records(PUBLISHED)
    assert len(rows) == len(published)
    assert "238 rows" in err
    row = next(each for each in rows if each["implementation"] == "pytorch" and each["seed"] == "1")
    record = next(each for each in published if each.identifier == row["id"])
    assert float(row["metric.training_seconds.median"]) == record.values("training_seconds")[0]
    assert row["software.pytorch"] == record.software["pytorch"]
    assert row["gate.passed"] == "true"
    assert json.loads(row["parameters"]) == record.parameters
    assert row["image.config_digest"].startswith("sha256:")


def test_the_columns_are_those_of_the_document():
    document = (ROOT / "runner" / "report" / "export" / "README.md").read_text()
    table, _, repetitions = document.partition("With `--repetitions`")
    published = read_records(PUBLISHED)
    for text, columns in (
        ("\n".join(line for line in table.splitlines() if line.startswith("|")), table_of_records(published)),
        (repetitions, table_of_repetitions(published)),
    ):
        first = "\n".join(line.split("|")[1] if line.startswith("|") else line for line in text.splitlines())
        documented = set(re.findall(r"`([a-z_][\w.]*(?:NAME)?[\w.]*)`", first))
        general = {re.sub(r"^(software|count|metric)\.[^.]+", r"\1.NAME", column.name) for column in columns}
        assert documented == general


def test_records_are_selected_by_name_architecture_and_seed(forge):
    _, out, _ = forge(
        *("--results", str(PUBLISHED), "--only", "gae/rust", "--arch", "amd64", "--seeds", "2,3"),
    )
    rows = list(csv.DictReader(io.StringIO(out.decode(), newline="")))
    assert {(each["benchmark"], each["implementation"], each["platform"]) for each in rows} == {
        ("gae", "rust", "amd64")
    }
    assert {each["seed"] for each in rows} == {"2", "3"}


@pytest.mark.parametrize("arguments", [[], ["--repetitions"]])
def test_an_empty_store_gives_a_header_and_says_so(forge, tmp_path, arguments):
    (tmp_path / "nothing").mkdir()
    code, out, err = forge("--results", str(tmp_path / "nothing"), *arguments)
    assert code == 0
    assert out.count(b"\n") == 1
    assert out.startswith(b"id,key,profile,benchmark,")
    assert "no such records" in err


@pytest.mark.parametrize("start", FORMULA)
def test_no_text_is_a_formula_to_a_spreadsheet(start):
    texts = (f"{start}cmd|' /C calc'!A0", f"'{start}x", "plain = text", "-1", "'quoted'")
    columns = (
        Column(name="text", type=str, values=texts),
        Column(name="number", type=float, values=(-1.0,) * len(texts)),
    )
    read = read_csv(as_csv(columns), columns)
    assert read["text"] == list(texts)
    assert b",-1.0\n" in as_csv(columns), "a number below zero is a number"


def test_a_results_directory_that_is_not_there_is_a_mistake_of_the_command_line(forge, tmp_path):
    code, out, err = forge("--results", str(tmp_path / "TYPO"))
    assert (code, out) == (UsageError.exit_code, b"")
    assert "TYPO" in err
    assert not (tmp_path / "TYPO").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["render"],
        ["compare", "--benchmark", "gae", "--base", "numpy", "--against", "rust"],
        ["clean", "results", "--dry-run"],
    ],
)
def test_no_command_that_only_reads_takes_a_directory_that_is_not_there(tmp_path, capsys, words):
    code = main([*words, "--results", str(tmp_path / "TYPO")])
    assert code == UsageError.exit_code
    assert "there is no results directory" in capsys.readouterr().err


def test_the_name_of_a_file_says_its_format(forge, tmp_path):
    code, _, _ = forge("--results", str(PUBLISHED), "--output", str(tmp_path / "x.parquet"))
    assert code == 0
    assert parquet.read_table(tmp_path / "x.parquet").num_rows == 238


@pytest.mark.parametrize(("form", "name"), [("csv", "x.parquet"), ("parquet", "x.CSV")])
def test_a_format_that_contradicts_the_name_is_refused(forge, tmp_path, form, name):
    code, _, err = forge("--results", str(PUBLISHED), "--format", form, "--output", str(tmp_path / name))
    assert code == UsageError.exit_code
    assert name in err
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_stdout(forge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = forge("--results", str(PUBLISHED), "--output", "-")
    assert code == 0
    assert out.startswith(b"id,key,profile,")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_and_over_an_older_one(forge, tmp_path):
    target = tmp_path / "table.parquet"
    target.write_bytes(b"older")
    target.chmod(0o640)
    code, out, _ = forge("--results", str(PUBLISHED), "--format", "parquet", "--output", str(target))
    assert (code, out) == (0, b"")
    assert parquet.read_table(target).num_rows == 238
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_what_is_no_file_is_written_into_and_not_replaced(forge):
    code, _, _ = forge("--results", str(PUBLISHED), "--output", "/dev/null")
    assert code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("target", ["missing/table.csv", "."])
def test_an_output_that_cannot_be_a_file_is_a_mistake_of_the_command_line(forge, tmp_path, target):
    code, _, err = forge("--results", str(PUBLISHED), "--output", str(tmp_path / target))
    assert code == 2
    assert "to do:" in err


def test_parquet_without_its_library_names_csv(tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\")")
    result = subprocess.run(
        [sys.executable, "-m", "runner", "export", "--format", "parquet", "--results", str(PUBLISHED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin"},
    )
    assert result.returncode == PythonNotReady.exit_code
    assert "--format csv" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_parquet_file_is_not_poured_over_a_terminal():
    code, shown = forge_bench("export", "--format", "parquet", "--results", str(PUBLISHED), columns=80)
    assert code == 2
    assert "PAR1" not in shown


def test_failed_cells_are_rows_too(write_matrix, tmp_path, forge):
    where = ["--results", str(tmp_path / "results")]
    data = small_matrix(good=program(DOUBLER), bad=program("sys.exit('comma, \"quote\"\\nand line')"))
    assert (
        main(["--matrix", str(write_matrix(data)), *where, "--executor", "local", "--profile", "smoke"]) == 3
    )
    _, out, _ = forge(*where)
    rows = list(csv.DictReader(io.StringIO(out[out.index(b"id,key") :].decode(), newline="")))
    verdicts = {(each["implementation"], each["failure.kind"], each["gate.passed"]) for each in rows}
    assert verdicts == {("plain", "", "true"), ("good", "", "true"), ("bad", "exit-code", "")}
