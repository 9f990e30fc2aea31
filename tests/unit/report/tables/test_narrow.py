"""Pages on a narrow terminal: nothing is wider than it, nothing is lost, and files stay as they are."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pseudo_terminal import forge_bench

from runner.report.tables.markdown import Table, render_table
from runner.report.tables.narrow import narrow

ROOT = Path(__file__).parents[4]
PUBLISHED = ROOT / "results/published/2026-11-21-quick"
PAGES = sorted((PUBLISHED / "tables/quick").glob("*.md"))


def words(text: str) -> list[str]:
    """What a page says, without what draws its tables."""
    return re.sub(r"[|:;,]|-{3,}", " ", text).split()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_of_a_page_is_wider_than_the_terminal_but_what_cannot_be_broken(page, width):
    shown = narrow(page.read_text(encoding="utf-8"), width)
    wide = [line for line in shown.splitlines() if len(line) > width]
    # A hash, a path or an address is for copying.
    assert [line for line in wide if max(map(len, line.split())) < width // 2] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_figure_of_a_page_is_shown(page):
    text = page.read_text(encoding="utf-8")
    # Only the headers of the columns that name a row are not repeated with each.
    headers = {"benchmark", "case", "implementation", "seed", "architecture", "image", "limits", "model"}
    assert set(words(text)) - headers == set(words(narrow(text, 80))) - headers


def test_a_row_is_a_block_of_its_names_and_what_each_column_says():
    table = Table(
        headers=("case", "implementation", "time a call", "n", "gate"),
        rows=(
            ("T=512", "rust", "1.76 µs (1.70 to 1.83)", "5", "passed"),
            ("T=512", "numpy", "1 s", "5", "reference"),
        ),
    )
    assert narrow(render_table(table), 42) == (
        "T=512, rust\n  time a call: 1.76 µs (1.70 to 1.83);\n  n: 5; gate: passed\n\n"
        "T=512, numpy\n  time a call: 1 s; n: 5; gate: reference\n"
    )


def test_a_table_that_fits_stays_a_table():
    text = render_table(Table(headers=("case", "n"), rows=(("T=512", "5"),))) + "\n"
    assert narrow(text, 80) == text


cells = st.text(alphabet="abc|\\\\-: `*", max_size=30)


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4), st.integers(20, 60))
def test_whatever_a_cell_holds_each_row_is_one_block(rows, width):
    table = render_table(Table(headers=("case", "gate", "platforms agree"), rows=tuple(rows)))
    shown = narrow(table, width)
    if shown != f"{table}\n":
        assert shown.count("platforms agree: ") + shown.count("platforms agree:\n") >= len(rows)
        assert len(re.findall(r"^  ", shown, re.MULTILINE)) >= len(rows)


def test_logs_and_files_stay_as_they_are():
    fenced = "````text\n| no | table |\n|:---|:---|\n```\n" + "x " * 80 + "\n````\n"
    assert narrow(fenced, 40) == fenced
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert narrow(text, None) == text


def test_render_on_a_terminal_fits_and_leaves_the_markdown_wide(tmp_path):
    code, shown = forge_bench("render", "--results", str(PUBLISHED), "--output", str(tmp_path), columns=60)
    assert code == 0, shown
    assert "gae, 256x2048" in shown
    assert "| benchmark" not in shown
    assert "| benchmark" in (tmp_path / "quick/overview.md").read_text(encoding="utf-8")
