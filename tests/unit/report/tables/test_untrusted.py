"""Text of any origin is shown, and does nothing else: on a page, in a template, in a stamp."""

import os
import re
from pathlib import Path

import jinja2
import pytest
from example_records import gae_records, make_record
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2.sandbox import SecurityError

from examples import examples
from runner.matrix import Matrix
from runner.report.tables import markdown
from runner.report.tables.markdown import Table, block, escape, render, render_table
from runner.report.tables.pages import render_pages
from runner.report.write import STAMP, write_tables
from runner.system import printable

MARKUP = [
    "|", "\\", "`", "``", "```", "*", "**", "_", "__", "[", "]", "(", ")", "<b>", "<!--", "-->", "&amp;", "&#124;",
    "http://a.b/c", "https://x.y", "www.ev.il", "a@b.cd", "~", "~~", "~~~", "#", "##", "-", "+", "1.", "2)", "=",
    "---", "===", "***", "> ", "\n", "\r\n", "\r", "\t", " ", "![x](y)", "[x](javascript:alert(1))", "[x]: y",
    "<script>alert(1)</script>", "|---|", "| a |", "\u202e", "\u2066", "\u200b", "\u2028", "\x85", "\x1b[31m", "\x07",
    "\0", "\x01", "\ud800", "\ufeff", "e" + "\u0301" * 9, "$x$", "x", "yz", "0", ":", "mailto:", "!", "{{ 7*7 }}",
    "{% raw %}", "[^1]", "[ ] ", "\\|", "\\\\|", "javascript:",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(MARKUP) | st.characters(), max_size=10).map("".join)

# A small reading of GitHub's dialect, on purpose not the one that wrote it: what a backslash stands before is itself.
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def shown(source: str) -> str:
    """What a reader sees of a line without markup."""
    return _ESCAPED.sub(r"\1", source)


def bare(source: str) -> str:
    """The line without what is escaped: whatever is left may be markup."""
    return _ESCAPED.sub("x", source)


def cells_of(row: str) -> list[str]:
    """The cells of a row, cut at each bar that no backslash stands directly before, as renderers do."""
    assert row.startswith("|")
    assert row.endswith("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row[1:-1])]


@examples(300)
@given(TEXT)
@example("a\\|b")
@example("\\")
@example("_x_ __y__ a_b")
def test_a_text_is_shown_as_it_is_and_holds_no_markup(text: str) -> None:
    source = escape(text)
    line = printable.one_line(text, 400)
    assert shown(source) == line
    left = bare(source)
    assert not set(left) & set("\\`*[]<>|~&$@")
    assert not re.search(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", left), "emphasis"
    assert "://" not in left
    assert "www." not in left.lower()
    assert not re.match(r"#|[-+] |[-+]$|[=-]+$|\d+[.)]( |$)", left), "a heading, a list or a rule"
    assert not re.search(r" #+$", left), "the end of a heading"


@given(TEXT)
def test_nothing_in_a_text_steers_a_terminal_or_reorders_the_line(text: str) -> None:
    source = escape(text)
    assert source.isprintable()
    source.encode()


def test_marks_do_not_pile_up_over_other_lines() -> None:
    assert escape("e" + "\u0301" * 50) == "e" + "\u0301" * 4


@examples(200)
@given(st.integers(1, 4).flatmap(lambda n: st.tuples(_row(n), st.lists(_row(n), min_size=1, max_size=4))))
def test_a_table_keeps_its_rows_and_columns_whatever_its_fields_say(
    table: tuple[tuple[str, ...], list[tuple[str, ...]]],
) -> None:
    headers, rows = table
    lines = render_table(Table(headers=headers, rows=tuple(rows))).split("\n")
    assert len(lines) == 2 + len(rows)
    wanted = [[printable.one_line(cell, 400) for cell in row] for row in (headers, *rows)]
    assert [[shown(cell) for cell in cells_of(line)] for line in (lines[0], *lines[2:])] == wanted
    assert re.fullmatch(r"\|(:?-+:?\|)+", lines[1])
    assert lines[1].count("-|") + lines[1].count(":|") == len(headers)


def _row(columns: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.tuples(*[TEXT] * columns)


@given(st.lists(TEXT | st.sampled_from(["````", "~~~~", "```text", "    x"]), max_size=6).map("\n".join))
def test_a_block_ends_where_it_should_and_not_before(text: str) -> None:
    lines = block(text).split("\n")
    fence = lines[-1]
    assert set(fence) == {"`"}
    assert lines[0] == f"{fence}text"
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])
    assert len(lines) - 2 == text.count("\n") + 1
    assert all(line.isprintable() for line in lines)


def test_a_gigabyte_of_text_is_cut_before_anything_is_done_with_it() -> None:
    huge = "|" * (64 * 2**20)
    assert len(escape(huge)) < 1000
    assert len(block(huge)) < 100_000


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Render one template of a directory of its own, beside which a secret lies."""
    directory = tmp_path / "templates"
    directory.mkdir()
    (tmp_path / "secret").write_text("hunter2", encoding="utf-8")
    monkeypatch.setattr(markdown, "TEMPLATES", directory)
    markdown._environment.cache_clear()

    def run(source: str, **view: object) -> str:
        (directory / "page.j2").write_text(source, encoding="utf-8")
        return render("page.j2", **view)

    yield run
    markdown._environment.cache_clear()


@pytest.mark.parametrize(
    "source",
    [
        "{{ view.__class__ }}",
        "{{ view.__init__.__globals__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ view.run.__func__ }}",
        "{{ '{0.__class__}'.format(view) }}",
        "{{ view.items.append(1) }}",
        "{% set x = view.items.clear() %}{{ x }}",
    ],
)
def test_a_template_cannot_reach_or_change_what_lies_behind_its_view(template, source: str) -> None:
    class View:
        items = [1]  # noqa: RUF012 (a list that must stay as it is)

        def run(self) -> None:
            pass

    with pytest.raises((SecurityError, jinja2.UndefinedError)):
        template(source, view=View())
    assert View.items == [1]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "../templates/../secret", "..\\secret"])
def test_a_template_cannot_read_files_elsewhere(template, name: str) -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        template("{% include name %}", name=name)


def test_a_link_out_of_the_templates_is_the_projects_own_doing_and_everything_else_is_refused(
    template,
) -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        template("{% import 'os' as os %}")
    with pytest.raises(OverflowError):
        template("{% for x in range(10**9) %}{% endfor %}")


def test_text_of_a_record_is_no_template(matrix: Matrix) -> None:
    text = "{{ 7 * 191 }}{% include 'overview.md.j2' %}{# gone #}"
    records = [*gae_records(), make_record(minute=1, failure=("deadline", text), machine={"cpu_model": text})]
    pages = "".join(page.text for page in render_pages(matrix, records, profile="quick"))
    assert "7 \\* 191" in pages
    assert "1337" not in pages
    assert "{# gone #}" in pages


@examples(25)
@given(TEXT)
def test_pages_keep_their_shape_whatever_a_record_says(matrix: Matrix, text: str) -> None:
    told = text.encode("utf-8", "replace").decode()
    plain, odd = (
        [
            make_record(
                seed=seed,
                failure=("deadline", word) if seed == 2 else None,
                machine={"cpu_model": word, "os": word, "caches": {word: word}, "simd": [word]},
                software={word: word},
                gate=[{"check": word, "passed": True, "detail": word, "share": 0.5}],
            )
            for seed in range(1, 4)
        ]
        for word in ("x", told)
    )
    for one, other in zip(
        render_pages(matrix, plain, profile="quick"), render_pages(matrix, odd, profile="quick"), strict=True
    ):
        assert _skeleton(one.text) == _skeleton(other.text)


def _skeleton(page: str) -> list[tuple[str, int]]:
    """What each line is, and of how many cells."""
    return [
        (line[0], len(cells_of(line)))
        if line.startswith("|")
        else (line[:2] if line.startswith("#") else "", 0)
        for line in page.splitlines()
    ]


@pytest.mark.parametrize(
    "name", ["..", "", ".", "notes.txt", "../victim.md", "/etc/passwd", "a/b.md", ".stamp.json"]
)
def test_a_stamp_removes_no_file_but_a_page_of_its_directory(
    matrix: Matrix, tmp_path: Path, name: str
) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    for path in (tmp_path / "victim.md", tables / "notes.txt"):
        path.write_text("mine", encoding="utf-8")
    (tables / STAMP).write_text(f'{{"content": "x", "pages": {{"{name}": "y"}}}}', encoding="utf-8")
    write_tables(matrix, [], tables, profile="quick")
    assert (tmp_path / "victim.md").exists()
    assert (tables / "notes.txt").exists()
    assert (tables / "overview.md").exists()


@pytest.mark.parametrize(
    "content", ["", "[]", "9" * 5000, "[" * 50_000, '{"content": 1, "pages": {"a.md": []}}']
)
def test_a_stamp_of_any_content_is_overwritten(matrix: Matrix, tmp_path: Path, content: str) -> None:
    (tmp_path / STAMP).write_text(content, encoding="utf-8")
    assert write_tables(matrix, [], tmp_path, profile="quick")


def test_a_page_that_is_a_pipe_is_not_waited_for(matrix: Matrix, tmp_path: Path) -> None:
    write_tables(matrix, [], tmp_path, profile="quick")
    (tmp_path / "overview.md").unlink()
    os.mkfifo(tmp_path / "overview.md")
    write_tables(matrix, [], tmp_path, profile="quick")
    assert (tmp_path / "overview.md").is_file()


# Names that passed the matrix's pattern, and numbers: whoever adds one here says why it needs no escaping.
UNFILTERED = {
    "name", "view.head.name", "view.updates.benchmark", "section.benchmark",
    "view.minutes", "view.resamples", "view.least_processes", "view.coverage_trials", "view.coverage_resamples",
    "view.passed", "view.failed", "view.not_run", "view.episodes", "view.threshold", "room.failures.left_out",
    # Of a committed file, which only a tool of this checkout writes, and a relative path of this checkout.
    "each.seeds", "each.page", "view.same_returns.published",
}  # fmt: skip


def test_templates_escape_everything_that_is_not_a_number_or_a_checked_name() -> None:
    found = {
        expression.strip()
        for path in markdown.TEMPLATES.glob("*.md.j2")
        for expression in re.findall(r"\{\{(.*?)\}\}", path.read_text(encoding="utf-8"))
        if not re.search(r"\| (text|table|block|listing) $", expression)
    }
    assert found <= UNFILTERED
