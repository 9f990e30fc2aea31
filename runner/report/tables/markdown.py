"""From view models to Markdown: tables through tabulate, prose through Jinja, every text escaped.

Pages use only markup that every renderer of GitHub's dialect shows alike: headings, paragraphs, lists, links, code
spans, fences, pipe tables, and folds, which are the only HTML. Text of a matrix or a record is shown literally
everywhere, and never makes markup, a link, a formula or a row. Templates can read only their view and other templates.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tabulate import tabulate

from runner.report.tables import TEMPLATES
from runner.system.printable import lines, one_line

_LONGEST_TEXT = 400
_LONGEST_BLOCK = 20_000
# Each of these characters can make markup anywhere in a line. A backslash before it prevents that.
_ANYWHERE = re.compile(r"([\\`*\[\]<>|~&$])")
# Within a word an underscore is only an underscore.
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])(_)|(_)(?![A-Za-z0-9])")
# Renderers make a link of an address here, without any markup.
_ADDRESS = re.compile(r"(?<=[a-z])(:)(?=//)|(?<=www)(\.)|(@)|(?<=mailto)(:)|(?<=xmpp)(:)", re.IGNORECASE)
# Characters that make a heading, list or rule at the start of a line, or end a heading at its end.
_AT_AN_END = re.compile(r"^(#)|^([+-])(?= |$)|^([=-])(?=[=-]*$)|(?<= )(#)(?=#*$)")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?= |$)")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Headers and rows of plain text; columns named in ``right`` are aligned to the right.

    ``pages`` are the names of the pages beside this one that the rows' first cells lead to; none where no row does.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()
    pages: tuple[str, ...] = ()


def escape(text: str) -> str:
    """``text`` as Markdown that shows it literally, on one line, in a table cell and in prose.

    Only GitHub still links a mail address, with the same text.
    """
    line = one_line(text, _LONGEST_TEXT)
    for pattern in (_ANYWHERE, _EMPHASIS, _ADDRESS, _AT_AN_END):
        line = pattern.sub(lambda found: f"\\{found.group()}", line)
    return _NUMBERED.sub(r"\1\\\2", line)


def block(text: str) -> str:
    """``text`` as a fenced block that shows its lines literally; nothing in it can end the fence."""
    shown = lines(text[:_LONGEST_BLOCK], _LONGEST_TEXT)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def render_table(table: Table) -> str:
    """``table`` in GitHub's Markdown."""
    rows = [[escape(cell) for cell in row] for row in table.rows]
    for row, page in zip(rows, table.pages, strict=bool(table.pages)):
        row[0] = f"[{row[0]}]({page}.md)"
    return tabulate(
        rows,
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
        jinja2.sandbox.SecurityError: the template uses something outside the view.
    """
    text = _environment().get_template(template).render(**view)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def listing(items: Sequence[str]) -> str:
    """Escaped texts as ``a, b and c``."""
    escaped = [escape(item) for item in items]
    return " and ".join(filter(None, (", ".join(escaped[:-1]), *escaped[-1:])))


def sandbox(*, autoescape: bool) -> ImmutableSandboxedEnvironment:
    """What reads templates/: a template sees its view and other templates, and a missing name is an error."""
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    # The output is Markdown, in which HTML's escapes would be visible. The filters below escape for Markdown.
    environment = sandbox(autoescape=False)
    environment.filters.update(text=escape, block=block, table=render_table, listing=listing)
    return environment
