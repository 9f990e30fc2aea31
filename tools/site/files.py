"""Which files of the checkout the site shows: a hook of MkDocs, which knows one folder of pages and no other.

Each file keeps its path in the checkout, so a link leads to the same file on the site as in the checkout. A file that a
page links to is part of the site too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
_PAGES = (
    "*.md",
    "docs/**/*",
    "results/published/**/*.md",
    "results/published/**/*.svg",
    "results/published/**/*.html",
    "baselines/README.md",
    "runner/report/export/README.md",
    "rust/*.md",
    "rust/crates/*/README.md",
)
# Cargo writes more than a language there.
_FENCE = re.compile(r"^(```\w+),\w+$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The pages and what they link to, with the theme's own files."""
    theme = [each for each in files if each.src_uri.startswith("assets/")]
    paths = dict.fromkeys(_pages())
    paths.update(dict.fromkeys(linked for page in list(paths) for linked in _linked(page)))
    ours = [
        File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)) for path in paths
    ]
    return Files([*theme, *ours])


def on_page_markdown(markdown: str, **_: Page) -> str:
    """The page in the words of this Markdown: the forge reads what is inside a folded part, and each block of code."""
    return _FENCE.sub(r"\1", markdown).replace("<details>", '<details markdown="1">')


def _pages() -> Iterator[Path]:
    for pattern in _PAGES:
        yield from (path for path in sorted(ROOT.glob(pattern)) if path.is_file())


def _linked(page: Path) -> Iterator[Path]:
    if page.suffix != ".md":
        return
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        path = (page.parent / link).resolve()
        if "://" not in link and path.is_file() and path.is_relative_to(ROOT):
            yield path
