"""A page's Markdown as HTML: headings one level lower, links between pages within the file, plots within the file.

The pages are the only source. So the report says nothing that they do not say.
"""

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from runner.report.tables.folds import without_folds

# A section of this level or below is folded: the page's answer stands above it.
_FOLDED = 3
# The heading of a section that a reader must not miss.
_ALWAYS_OPEN = ("failed",)
_PAGE = re.compile(r"(?P<page>[A-Za-z0-9_-]+)\.md(?:#(?P<place>.*))?")


@dataclass(frozen=True, kw_only=True)
class Section:
    """One page in the report: where it is, what its first heading says, and its HTML."""

    identifier: str
    title: str
    html: str


def section(name: str, markdown: str, plots: Mapping[str, str]) -> Section:
    """One page as a section.

    Args:
        name: of the page, without its ending.
        markdown: its text.
        plots: the text of each SVG file that lies beside the pages, by the file's name.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Here sections are folded by their headings.
    tokens = parser.parse(without_folds(markdown))
    title = _words(tokens[1]) if tokens and tokens[0].type == "heading_open" else name
    for token in _every(tokens):
        _within_one_file(token, name, plots)
    html = parser.renderer.render(list(_folded(tokens, name)), parser.options, {})
    return Section(identifier=name, title=title, html=html)


def slug(heading: str) -> str:
    """The name of a heading's place, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _every(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _within_one_file(token: Token, page: str, plots: Mapping[str, str]) -> None:
    """Let a link lead to a section, and a picture stand in the file; a table's heads say what they are heads of."""
    if token.type == "link_open":
        target = str(token.attrGet("href") or "")
        found = _PAGE.fullmatch(target)
        if found:
            token.attrSet("href", f"#{_place(found['page'], found['place'])}")
        elif target.startswith("#"):
            token.attrSet("href", f"#{_place(page, target[1:])}")
    elif token.type == "image":
        plot = plots.get(str(token.attrGet("src")))
        if plot is not None:
            data = base64.b64encode(plot.encode()).decode()
            token.attrSet("src", f"data:image/svg+xml;base64,{data}")
    elif token.type == "th_open":
        token.attrSet("scope", "col")


def _place(page: str, place: str | None) -> str:
    return f"{page}--{place}" if place else page


def _folded(tokens: Sequence[Token], page: str) -> Iterator[Token]:
    """The tokens, each deep section in a fold and each table in a region that scrolls by itself."""
    open_fold = False
    heading: Token | None = None
    places: Counter[str] = Counter()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            level, words = int(token.tag[1]), _words(tokens[index + 1])
            if open_fold and level <= _FOLDED:
                yield _html("</details>\n")
                open_fold = False
            folds = level == _FOLDED and not words.lower().startswith(_ALWAYS_OPEN)
            if folds:
                yield _html("<details><summary>")
                open_fold = True
            place = page if level == 1 else _place(page, slug(words))
            # As GitHub tells headings of one name from each other.
            token.attrSet("id", f"{place}-{places[place]}" if places[place] else place)
            places[place] += 1
            heading = token
            token.tag = f"h{min(level + 1, 6)}"
            token.meta = {"folds": folds}
        elif token.type == "heading_close":
            token.tag = heading.tag if heading else token.tag
        elif token.type == "table_open":
            labelled = page if heading is None else heading.attrGet("id")
            yield _html(f'<div class="wide" role="region" aria-labelledby="{labelled}" tabindex="0">\n')
        yield token
        if token.type == "heading_close" and heading is not None and heading.meta.get("folds"):
            yield _html("</summary>\n")
        if token.type == "table_close":
            yield _html("</div>\n")
    if open_fold:
        yield _html("</details>\n")


def _words(inline: Token) -> str:
    """The text of a heading, without its markup."""
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def _html(text: str) -> Token:
    return Token("html_block", "", 0, content=text)
