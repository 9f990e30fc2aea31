"""Learning curves: ours beside the reference, against steps and seconds, the same records the same bytes."""

import re
from dataclasses import replace

from example_records import dqn_records

from runner.matrix import Matrix
from runner.report.tables.pages import render_pages
from runner.report.tables.plots.curves import curves_plot
from runner.report.tables.selection import rooms


def plot(matrix: Matrix, records) -> str | None:
    return curves_plot(rooms(matrix, records, "dqn", profile="quick"))


def test_the_example_page_has_both_curves_and_says_their_ends_in_words(matrix: Matrix) -> None:
    pages = {page.file: page.text for page in render_pages(matrix, dqn_records(), profile="quick")}
    svg = pages["dqn-curves.svg"]
    assert "dqn-curves.svg" in pages["dqn.md"]
    assert svg.count("<polyline") == svg.count("<polygon") == 4
    assert len(re.findall(r"return \S+ at the end, after [\d,]+ steps", svg)) == 2


def test_the_order_of_records_does_not_matter(matrix: Matrix) -> None:
    assert plot(matrix, dqn_records()) == plot(matrix, dqn_records()[::-1]) is not None


def test_there_is_no_plot_without_both_sides_or_without_native_times(matrix: Matrix) -> None:
    records = dqn_records()
    assert plot(matrix, [each for each in records if each.implementation != "rust"]) is None
    assert plot(matrix, []) is None
    [room, *_] = rooms(matrix, records, "dqn", profile="quick")
    assert curves_plot([replace(room, execution=None)]) is None
