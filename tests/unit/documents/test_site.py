"""The site's navigation holds the documents of the checkout."""

from collections.abc import Iterator
from typing import Any

import yaml

from documents.markdown import ROOT, documents

# A list of its own leads to each of these, so the navigation needs none of them.
LISTED = ("docs/decisions/", "results/published/", "tests/", ".github/")


def entries(nav: Any) -> Iterator[str]:
    for entry in nav:
        (value,) = entry.values()
        if isinstance(value, str):
            yield value
        else:
            yield from entries(value)


def test_every_document_has_one_place_in_the_navigation() -> None:
    # BaseLoader: what follows a tag stays text.
    text = (ROOT / "tools" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    named = list(entries(yaml.load(text, Loader=yaml.BaseLoader)["nav"]))  # noqa: S506 (texts alone)
    assert len(named) == len(set(named))
    alone = {str(each) for each in documents() if not str(each).startswith(LISTED)}
    assert alone <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []
