"""Markdown that renders the same everywhere: the common subset of GitHub's."""

import itertools
import re

import pytest

from documents.markdown import Document, documents

ALL = documents()
LANGUAGES = {"yaml", "json", "python", "rust", "toml", "text", "sh", "diff"}


@pytest.mark.parametrize("document", ALL, ids=str)
def test_a_page_has_one_title_and_no_level_is_left_out(document: Document) -> None:
    if document.path.name == "PULL_REQUEST_TEMPLATE.md":
        # It becomes the text below a title that its author gives.
        return
    levels = [level for level, _ in document.headings]
    assert levels[:1] == [1]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("document", ALL, ids=str)
def test_blocks_of_code_name_their_language(document: Document) -> None:
    assert {block.language for block in document.blocks} <= LANGUAGES | {""}


@pytest.mark.parametrize("document", ALL, ids=str)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(document: Document) -> None:
    for rows in document.tables():
        assert len(rows) > 2
        assert all(re.fullmatch(r":?-+:?", cell) for cell in rows[1])
        assert {len(row) for row in rows} == {len(rows[0])}, rows[0]


@pytest.mark.parametrize("document", ALL, ids=str)
def test_nothing_is_used_that_only_some_renderers_know(document: Document) -> None:
    beyond = {
        "HTML": r"<[a-zA-Z/][^>\n]*>",
        "a footnote": r"\[\^[^\]]+\]",
        "an alert": r"^> \[!",
        "an underlined heading": r"^(=+|-{2,})$",
        "a tab": r"\t",
        "mathematics": r"\$\$",
        "an emoji by name": r"(?<!\S):[a-z_]+:(?!\S)",
    }
    found = {
        name: match[0]
        for name, pattern in beyond.items()
        if (match := re.search(pattern, document.words, re.MULTILINE))
    }
    assert found == {}
