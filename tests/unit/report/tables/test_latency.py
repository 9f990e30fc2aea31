"""The page of an operation shows the latencies of its batches where its records have some."""

import pytest
from example_records import MATRIX, example_matrix, make_record

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.pages import render_benchmark
from tables.test_pages import row

BATCHES = """
  batches:
    title: Batches
    kind: operation
    headline: seconds
    inputs: [python3, inputs]
    counts: {elements: calls}
    gate: {outputs: {delivered.npy: {rtol: 0, atol: 0}}}
    cases:
      shuffled: {calls: 512}
      first: {calls: 2}
    profiles:
      smoke: {native: {repetitions: 1}, emulated: {repetitions: 1}}
      quick: {native: {repetitions: 20}, emulated: {repetitions: 1}}
    implementations:
      numpy: {command: [python3, numpy], reference: true}
      torchforge: {command: [python3, torchforge], side: ours}
"""
HEADING = "### Latency of batches, amd64\n"
PERCENTILES = {
    "first_batch_seconds": 30e-6,
    "batch_p50_seconds": 8e-6,
    "batch_p99_seconds": 20e-6,
    "batch_p999_seconds": 40e-6,
    "batch_max_seconds": 90e-6,
}


@pytest.fixture(scope="module")
def with_batches(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("batches"), MATRIX + BATCHES.lstrip("\n"))


def records(case: str, said: dict[str, float], implementation: str = "torchforge") -> list[Record]:
    calls = {"shuffled": 512, "first": 2}[case]
    return [
        make_record(
            benchmark="batches",
            case=case,
            implementation=implementation,
            seed=seed,
            parameters={"calls": calls, "repetitions": 20},
            metrics={"seconds": [1e-4] * 20, **said},
            counts={"elements": calls},
            outputs={},
        )
        for seed in range(1, 6)
    ]


def page(matrix: Matrix, found: list[Record]) -> str:
    return render_benchmark(matrix, found, "batches", profile="quick")


def test_each_percentile_is_a_figure_with_its_interval(with_batches: Matrix) -> None:
    text = page(with_batches, records("shuffled", PERCENTILES)).split(HEADING)[1]
    assert row(text, "shuffled", "torchforge")[2:] == [
        "30.0 µs (30.0 to 30.0)",
        "8.00 µs (8.00 to 8.00)",
        "20.0 µs (20.0 to 20.0)",
        "40.0 µs (40.0 to 40.0)",
        "90.0 µs (90.0 to 90.0)",
        "5",
    ]


def test_a_percentile_that_too_few_batches_show_is_left_open(with_batches: Matrix) -> None:
    said = {name: value for name, value in PERCENTILES.items() if name != "batch_p999_seconds"}
    text = page(with_batches, records("shuffled", said)).split(HEADING)[1]
    assert row(text, "shuffled", "torchforge")[5] == "—"


def test_a_case_of_first_batches_has_that_figure_alone(with_batches: Matrix) -> None:
    text = page(with_batches, records("first", {"first_batch_seconds": 30e-6})).split(HEADING)[1]
    assert row(text, "first", "torchforge")[2:] == ["30.0 µs (30.0 to 30.0)", "—", "—", "—", "—", "5"]


def test_a_page_without_first_batches_has_no_column_of_them(with_batches: Matrix) -> None:
    said = {name: value for name, value in PERCENTILES.items() if name != "first_batch_seconds"}
    text = page(with_batches, records("shuffled", said)).split(HEADING)[1]
    assert row(text, "shuffled", "torchforge")[2:4] == ["8.00 µs (8.00 to 8.00)", "20.0 µs (20.0 to 20.0)"]
    assert "irst batch" not in text.split("<details>")[0]


def test_the_words_about_first_batches_stand_beside_their_column(with_batches: Matrix) -> None:
    text = page(with_batches, records("shuffled", PERCENTILES)).split(HEADING)[1]
    assert '"First batch" is the median time from an epoch\'s\nstart' in text


def test_a_row_without_latencies_is_not_in_the_table(with_batches: Matrix) -> None:
    found = [*records("shuffled", PERCENTILES), *records("shuffled", {}, "numpy")]
    text = page(with_batches, found).split(HEADING)[1]
    assert row(text, "shuffled", "torchforge")
    assert "| shuffled | numpy " not in text.split("<details>")[0]


def test_a_page_without_latencies_has_no_such_table(with_batches: Matrix) -> None:
    assert HEADING not in page(with_batches, records("shuffled", {}))
