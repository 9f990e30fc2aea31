"""Every link leads somewhere."""

from pathlib import Path

import pytest

from documents.markdown import ROOT, Document, documents

ALL = documents()


@pytest.mark.parametrize("document", ALL, ids=str)
def test_links_to_files_and_headings_lead_to_what_is_there(document: Document) -> None:
    lost = []
    for link in document.links:
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        path = (document.path.parent / name).resolve() if name else document.path
        if (
            not path.exists()
            or not path.is_relative_to(ROOT)
            or (anchor and anchor not in Document(path).anchors)
        ):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("document", ALL, ids=str)
def test_references_are_defined(document: Document) -> None:
    assert document.undefined_references == ()


def test_every_document_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        path = ahead.pop()
        if path in reached:
            continue
        reached.add(path)
        targets = (
            (path.parent / link.partition("#")[0]).resolve()
            for link in Document(path).links
            if "://" not in link
        )
        ahead += [each for each in targets if each.suffix == ".md" and each.is_file()]
    # A template is met by whoever opens a pull request.
    met_elsewhere = {ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md"}
    assert {each.path for each in ALL} - reached - met_elsewhere == set()
