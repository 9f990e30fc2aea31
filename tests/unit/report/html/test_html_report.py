"""One HTML file holds all pages and plots, needs nothing else, and lets no text of a record become markup."""

import base64
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from example_records import MATRIX, dqn_records, example_matrix, gae_records

from runner.cli.main import main
from runner.records.store import Store
from runner.report.html.pages import section, slug
from runner.report.html.report import report
from runner.report.tables.pages import render_pages

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Reader(HTMLParser):
    """The elements of a document, and whether each is closed where it belongs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop() == tag

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    matrix = example_matrix(tmp_path_factory.mktemp("matrix"))
    pages = render_pages(matrix, gae_records() + dqn_records(), profile="quick")
    return report({page.file: page.text for page in pages}, profile="quick")


def test_it_is_well_formed_and_every_link_within_it_leads_somewhere(text: str) -> None:
    found = Reader(text)
    assert found.stack == []
    places = Counter(each["id"] for _, each in found.elements if "id" in each)
    assert [place for place, times in places.items() if times > 1] == []
    links = [each["href"] for each in found.of("a")]
    assert [link for link in links if not link.startswith("#") or link[1:] not in places] == []
    named = [each["aria-labelledby"] for _, each in found.elements if "aria-labelledby" in each]
    assert set(named) <= set(places)


def test_it_needs_nothing_from_elsewhere(text: str) -> None:
    found = Reader(text)
    assert not found.of("link")
    assert all("src" not in each for each in found.of("script"))
    assert all(each["src"].startswith("data:image/svg+xml;base64,") for each in found.of("img"))
    assert not re.search(r"url\(|@import|https?://", text.partition("<main")[0])


def test_a_browser_may_run_only_its_own_script(text: str) -> None:
    [policy] = [each["content"] for each in Reader(text).of("meta") if "http-equiv" in each]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy


def test_plots_are_in_the_file_with_words_for_those_who_cannot_see_them(text: str) -> None:
    images = Reader(text).of("img")
    assert images
    assert all(each["alt"] for each in images)
    assert all(base64.b64decode(each["src"].partition(",")[2]).startswith(b"<svg ") for each in images)


def test_every_column_has_a_head_and_every_table_scrolls_by_itself(text: str) -> None:
    found = Reader(text)
    assert all(each.get("scope") == "col" for each in found.of("th"))
    wide = [each for each in found.of("div") if each.get("class") == "wide"]
    assert len(wide) == len(found.of("table")) > 3
    assert all(each["role"] == "region" and each["tabindex"] == "0" for each in wide)


def test_details_are_folded_and_failures_are_not(text: str) -> None:
    assert re.search(r"<details><summary><h4[^>]*>Memory", text)
    assert re.search(r"(?<!<summary>)<h4[^>]*>Failed", text)


def test_the_same_records_in_another_order_give_the_same_bytes(text: str, tmp_path: Path) -> None:
    matrix = example_matrix(tmp_path)
    records = (gae_records() + dqn_records())[::-1]
    pages = render_pages(matrix, records, profile="quick")
    assert report({page.file: page.text for page in pages}, profile="quick") == text


@pytest.mark.parametrize(
    "markdown",
    ["# A <script>alert(1)</script>", "# A\n\n<img src=x onerror=alert(1)>", "# A\n\n[x](javascript:alert)"],
)
def test_text_never_becomes_markup(markdown: str) -> None:
    html = section("page", markdown, {}).html
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html


def test_a_heading_has_githubs_name() -> None:
    assert slug("Where the time goes, amd64") == "where-the-time-goes-amd64"
    twice = section("page", "# T\n\n## Same\n\n## Same\n", {}).html
    assert 'id="page--same"' in twice
    assert 'id="page--same-1"' in twice


def test_the_command_writes_it_beside_the_tables_to_a_file_and_to_stdout(tmp_path: Path, capsys) -> None:
    example_matrix(tmp_path, MATRIX)
    for record in gae_records():
        Store(tmp_path / "results").add(record)
    where = ["--matrix", str(tmp_path / "matrix.yaml"), "--results", str(tmp_path / "results")]
    assert main(["report", *where]) == 0
    beside = (tmp_path / "results/tables/quick/report.html").read_text(encoding="utf-8")
    assert main(["report", *where, "--output", str(tmp_path / "one.html")]) == 0
    assert (tmp_path / "one.html").read_text(encoding="utf-8") == beside
    capsys.readouterr()
    assert main(["report", *where, "--output", "-"]) == 0
    assert capsys.readouterr().out == beside


def test_a_publication_gets_none_unless_a_file_is_named(tmp_path: Path, capsys) -> None:
    published = Path(__file__).parents[4] / "results/published/2026-11-26-gae-dqn"
    assert main(["report", "--results", str(published)]) == 2
    assert "name a file with --output" in capsys.readouterr().err
