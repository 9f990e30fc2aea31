"""From view models to Markdown: tables through tabulate, prose through Jinja, every text escaped."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tabulate import tabulate

TEMPLATES = Path(__file__).parent.parent.parent / "templates"
_LONGEST_TEXT = 400


@dataclass(frozen=True, kw_only=True)
class Table:
    """Headers and rows of plain text; columns named in ``right`` are aligned to the right."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()


def escape(text: str) -> str:
    """``text`` as Markdown that shows it literally, on one line, in a table cell as well as in prose."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    if len(line) > _LONGEST_TEXT:
        line = line[:_LONGEST_TEXT] + "…"
    line = re.sub(r"([\\`*\[\]<>|~&])", r"\\\1", line)
    # Within a word an underscore is only an underscore.
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", line)


def render_table(table: Table) -> str:
    """``table`` in GitHub's Markdown."""
    return tabulate(
        [[escape(cell) for cell in row] for row in table.rows],
        headers=[escape(header) for header in table.headers],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["right" if header in table.right else "left" for header in table.headers]
        if table.rows
        else None,
    )


def render(template: str, **view: Any) -> str:
    """A template of templates/ with ``view``; runs of blank lines become one.

    Raises:
        jinja2.UndefinedError: the template names something that the view lacks.
    """
    text = _environment().get_template(template).render(**view)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def listing(items: Sequence[str]) -> str:
    """Escaped texts as ``a, b and c``."""
    escaped = [escape(item) for item in items]
    return " and ".join(filter(None, (", ".join(escaped[:-1]), *escaped[-1:])))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        # The output is Markdown: HTML's escapes would show. The filters below escape for Markdown.
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(text=escape, table=render_table, listing=listing)
    return environment
