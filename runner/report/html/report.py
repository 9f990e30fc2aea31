"""All pages in one HTML file."""

import base64
import hashlib
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.html import REPORT
from runner.report.html.pages import section
from runner.report.tables import TEMPLATES
from runner.report.tables.markdown import sandbox
from runner.report.tables.pages import render_pages

_TEMPLATE, _STYLE, _SCRIPT = "report.html.j2", "report.css", "report.js"


def pages_with_report(
    matrix: Matrix,
    records: Sequence[Record],
    *,
    profile: str,
    published: str | None = None,
    notes: Sequence[str] = (),
) -> dict[str, str]:
    """Every page and plot by its file's name, and the report of them all; arguments as of `render_pages`."""
    rendered = render_pages(matrix, records, profile=profile, published=published, notes=notes)
    pages = {page.file: page.text for page in rendered}
    return {**pages, REPORT: report(pages, profile=profile)}


def report(pages: Mapping[str, str], *, profile: str) -> str:
    """One file with a section for each page, and its plots.

    Args:
        pages: the text of each file by its name: Markdown pages in their order, and the SVG files beside them.
        profile: the profile that the pages are about.
    """
    plots = {name: text for name, text in pages.items() if name.endswith(".svg")}
    sections = [
        section(name.removesuffix(".md"), text, plots) for name, text in pages.items() if name.endswith(".md")
    ]
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in (_STYLE, _SCRIPT))
    template = sandbox(autoescape=True).get_template(_TEMPLATE)
    return template.render(
        profile=profile,
        # The sections are HTML already: their text was escaped when the Markdown was read.
        sections=[(each, Markup(each.html)) for each in sections],  # noqa: S704 (as the comment says)
        style=Markup(style),  # noqa: S704 (a file of ours)
        script=Markup(script),  # noqa: S704 (a file of ours)
        policy=_policy(style, script),
    )


def _policy(style: str, script: str) -> str:
    """What a browser may do with the file: run this script, use this style, show pictures within the file."""
    return "; ".join(
        (
            "default-src 'none'",
            "img-src data:",
            f"style-src {_source(style)}",
            f"script-src {_source(script)}",
        )
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
