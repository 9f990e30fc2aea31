"""Time a call against the size of the case: one line an implementation, the same records the same bytes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from example_records import MATRIX, example_matrix, make_record
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.pages import render_pages
from runner.report.tables.plots.scaling import scaling_plot
from runner.report.tables.selection import rooms

SVG = "{http://www.w3.org/2000/svg}"
SIZES = (128, 2048, 32768)
NAMES = ("numpy", "rust", "torchforge", "rlox")
CASES = {
    "T=2048: {batch: 1, length: 2048}": "T=2048: {batch: 1, length: 2048}\n      T=32768: {batch: 1, length: 32768}"
}


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """The example matrix with a third size."""
    ((before, after),) = CASES.items()
    return example_matrix(tmp_path_factory.mktemp("matrix"), MATRIX.replace(before, after))


def timed(names: Sequence[str] = NAMES, sizes: Sequence[int] = SIZES, second: float = 1e-9) -> list[Record]:
    return [
        make_record(
            case=f"T={size}",
            implementation=name,
            target="peers" if name == "rlox" else "core",
            parameters={"batch": 1, "length": size, "repetitions": 9},
            metrics={"seconds": [second * size * (place + 1)]},
        )
        for place, name in enumerate(names)
        for size in sizes
    ]


def plot(matrix: Matrix, records: Sequence[Record]) -> str | None:
    return scaling_plot(rooms(matrix, records, "gae", profile="quick"))


def test_a_page_has_a_line_for_each_implementation_and_all_figures_in_words(sized: Matrix) -> None:
    pages = {each.file: each.text for each in render_pages(sized, timed(), profile="quick")}
    svg = pages["gae-scaling.svg"]
    assert "(gae-scaling.svg)" in pages["gae.md"]
    assert svg.count("<polyline") == len(NAMES)
    said = ElementTree.fromstring(svg).find(f"{SVG}desc").text  # noqa: S314 (our own)
    assert said.startswith("numpy: T=128 128 ns, T=2048 2.05 µs, T=32768 32.8 µs; rust: ")


def test_the_order_of_records_does_not_matter(sized: Matrix) -> None:
    assert plot(sized, timed()) == plot(sized, timed()[::-1]) is not None


def test_two_sizes_show_no_course_and_unranked_times_none(sized: Matrix) -> None:
    assert plot(sized, timed(sizes=SIZES[:2])) is None
    assert plot(sized, []) is None
    [room, *_] = rooms(sized, timed(), "gae", profile="quick")
    assert scaling_plot([replace(room, execution=None)]) is None


@given(
    second=st.floats(1e-12, 1e3),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True),
)
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_lies_outside_and_no_two_labels_touch(sized: Matrix, second: float, names: list[str]) -> None:
    # Times so near to each other that their lines end at one place.
    records = [each for name in names for each in timed([name], second=second)]
    root = ElementTree.fromstring(str(plot(sized, records)))  # noqa: S314 (our own)
    width, height = float(root.get("width")), float(root.get("height"))
    for shape in root.iter():
        assert all(0 <= float(shape.get(name, "0")) <= width for name in ("x", "x1", "x2", "cx"))
        assert all(0 <= float(shape.get(name, "0")) <= height for name in ("y", "y1", "y2", "cy"))
    labels = sorted(float(each.get("y")) for each in root.iter(f"{SVG}text") if each.get("class") == "label")
    assert len(labels) == len(names)
    assert all(after - before >= 14 for before, after in pairwise(labels))


def test_no_number_has_more_than_a_tenth_of_a_pixel(sized: Matrix) -> None:
    assert not re.findall(r'="\d+\.\d\d', str(plot(sized, timed())))
