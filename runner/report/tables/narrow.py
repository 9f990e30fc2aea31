"""A page for a terminal: parts that are too wide become narrower, and lose no text."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from runner.system.terminal import wrap

# The columns that name a row.
_NAMES = frozenset({"benchmark", "case", "implementation", "seed", "architecture"})
_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|[-:| ]+\|")
# A line of prose: not blank, and no heading, item, table or fence.
_PROSE = re.compile(r"[^\s#|`-]")
_FENCE = "```"


def narrow(page: str, width: int | None) -> str:
    """A rendered page for ``width`` columns.

    A table that is too wide becomes one block for each row: the row's names, and below them the text of each column.
    Prose is broken at blanks. Fenced blocks, which are logs, stay unchanged. A ``width`` of None changes nothing.
    """
    if width is None:
        return page
    return "".join(f"{line}\n" for part in _parts(page.splitlines()) for line in _fit(part, width))


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """The page in blocks: whole tables, fenced blocks and paragraphs, and every other line separately."""
    start = 0
    while start < len(lines):
        end = start + 1
        if lines[start].startswith("|"):
            end = start + len(list(takewhile(lambda line: line.startswith("|"), lines[start:])))
        elif lines[start].startswith(_FENCE):
            fence = lines[start][: len(lines[start]) - len(lines[start].lstrip("`"))]
            while end < len(lines) and lines[end] != fence:
                end += 1
            end += 1
        elif _PROSE.match(lines[start]):
            end = start + len(list(takewhile(_PROSE.match, lines[start:])))
        yield list(lines[start:end])
        start = end


def _fit(part: list[str], width: int) -> list[str]:
    if all(len(line) <= width for line in part) or part[0].startswith(_FENCE):
        return part
    if len(part) > 1 and _RULE.fullmatch(part[1]):
        return _blocks([_cells(line) for line in (part[0], *part[2:])], width)
    prose = _PROSE.match(part[0]) is not None
    return wrap(" ".join(part), width, hang=0 if prose else 2).split("\n")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line)[1:-1]]


def _blocks(table: list[list[str]], width: int) -> list[str]:
    headers, *rows = table
    named = max(1, len(list(takewhile(_NAMES.__contains__, headers))))
    lines: list[str] = []
    for row in rows:
        # A blank line between blocks, as between paragraphs.
        lines += ([""] if lines else []) + wrap(", ".join(row[:named]), width).split("\n")
        told = [
            f"{header}: {cell}" if header else cell
            for header, cell in zip(headers[named:], row[named:], strict=True)
        ]
        lines += _filled(told, width)
    return lines


def _filled(told: Sequence[str], width: int) -> Iterator[str]:
    """Lines with as many parts as fit. A part that fits on one line is never broken."""
    line = ""
    for each in told:
        longer = f"{line}; {each}" if line else f"  {each}"
        if line and len(longer) > width - 1:
            yield f"{line};"
            longer = f"  {each}"
        *whole, line = wrap(longer, width - 1, hang=2).split("\n")
        yield from whole
    if line:
        yield line
