import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from runner.report.tables import markdown
from runner.report.tables.markdown import Table, escape, render, render_table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("`x`", r"\`x\`"),
        ("one\ntwo\r\n three", "one two three"),
        ("\x1b[31mred", r"\[31mred"),
        ("training_seconds", "training_seconds"),
        ("_x_", r"\_x\_"),
        ("back\\slash", r"back\\slash"),
        ("<b>", r"\<b\>"),
        ("T=2048", "T=2048"),
    ],
)
def test_text_is_shown_literally(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_a_very_long_text_is_cut_visibly() -> None:
    assert len(escape("x" * 10_000)) < 500
    assert escape("x" * 10_000).endswith("…")


def test_the_first_cell_of_a_row_leads_to_its_page_and_nothing_else_makes_a_link() -> None:
    table = Table(headers=("a", "b"), rows=(("x](y)", "[z](w)"),), pages=("gae",))
    assert render_table(table).splitlines()[2].startswith(r"| [x\](y)](gae.md) | \[z\](w)")


@given(cells=st.lists(st.text(), min_size=2, max_size=2))
def test_no_cell_breaks_its_table(cells: list[str]) -> None:
    text = render_table(Table(headers=("a", "b"), rows=(tuple(cells),)))
    assert len(text.splitlines()) == 3
    bars = text.splitlines()[2].replace("\\\\", "").replace("\\|", "").count("|")
    assert bars == 3


def test_figures_are_not_reformatted() -> None:
    assert "1.00" in render_table(Table(headers=("a",), rows=(("1.00",),)))


def test_a_table_without_rows_is_only_its_head() -> None:
    assert render_table(Table(headers=("a", "b"), rows=())).startswith("| a")


def test_a_name_that_the_view_lacks_is_an_error(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "page.md.j2").write_text("{{ missing }}", encoding="utf-8")
    monkeypatch.setattr(markdown, "TEMPLATES", tmp_path)
    markdown._environment.cache_clear()
    try:
        with pytest.raises(UndefinedError):
            render("page.md.j2")
    finally:
        markdown._environment.cache_clear()
