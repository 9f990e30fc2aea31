"""The profiling report has the parts of a training beside it, as other benchmarks measured them."""

from pathlib import Path

from example_records import MATRIX, example_matrix, make_record

from runner.records.record import Record
from runner.report.tables.pages import pages_of_profiling
from tables.test_pages import row
from tables.test_profiling import BENCHMARK, IMPLEMENTATIONS, records


def components() -> list[Record]:
    return [
        make_record(
            case="8x128",
            implementation=name,
            seed=seed,
            parameters={"batch": 8, "length": 128, "repetitions": 9},
            metrics={"seconds": [seconds] * 3},
        )
        for name, seconds in (("numpy", 90e-6), ("torchforge", 3e-6))
        for seed in range(1, 6)
    ]


def page(tmp_path: Path, found: list[Record]) -> str:
    text = MATRIX.replace("T=2048: {batch: 1, length: 2048}", "8x128: {batch: 8, length: 128}")
    matrix = example_matrix(tmp_path, text + BENCHMARK + IMPLEMENTATIONS)
    report, *_ = pages_of_profiling(matrix, found, profile="quick")
    return report.text


def test_a_component_has_its_time_alone_and_leads_to_its_benchmark(tmp_path: Path) -> None:
    text = page(tmp_path, [*records(), *components()])
    assert "## Components alone, amd64" in text
    assert row(text, "[GAE, 8 x 128](gae.md)")[1:] == [
        "3.00 µs (3.00 to 3.00): torchforge",
        "90.0 µs (90.0 to 90.0): numpy",
        "—",
        "—",
        "30.0x (30.0 to 30.0) faster: numpy",
    ]


def test_a_run_without_components_has_no_such_section(tmp_path: Path) -> None:
    assert "Components alone" not in page(tmp_path, records())
