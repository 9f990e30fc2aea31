"""The pages of each publication come out of its records again."""

import re
from functools import cache

import pytest

from published.publications import LAST_BEFORE_PACKING
from runner.matrix import Matrix, load_matrix
from runner.publishing.pages import pages_of
from runner.records.publication import Publication
from runner.records.store import newest_by_key
from runner.report.tables.pages import render_pages
from tests.fuzz.corpus import PUBLISHED, ROOT, publications

INTERVAL = re.compile(
    r"\d[\d,.]*(?:e[+-]\d+)?(?:x|\s?(?:ns|µs|ms|s|MiB|GiB|KiB|B)\b)? \([-\d.,e+]+ to [-\d.,e+]+\)"
)
# The words of these pages, and some of their columns, are of the day on which they were rendered. Their figures hold,
# but for those whose cells today's matrix does not have any more: all cells of the first day, and benchmarks whose
# repetitions the referee sizes otherwise. Lower bounds of trainings come from some of those.
OF_THE_FIRST_DAY = ("2026-11-21-dqn-full", "2026-11-21-quick")
SIZED_OTHERWISE = ("gae", "copy", "multiply", "update")
SIZED_OTHERWISE_IN_QUICK = ("dqn", "ppo", "sac")
ABOUT_UPDATES_ALONE = ("2026-11-22-backends",)
BOUND = "lower bound"


@cache
def todays_matrix() -> Matrix:
    return load_matrix(ROOT / "matrix.yaml")


@pytest.mark.parametrize(
    "folder",
    [name for name in publications() if OF_THE_FIRST_DAY[-1] < name <= LAST_BEFORE_PACKING],
)
def test_the_figures_of_a_publication_from_before_the_referee_come_out_of_its_records_again(
    folder: str,
) -> None:
    records = list(newest_by_key(Publication.at(PUBLISHED / folder).records()).values())
    held, lost = 0, []
    for tables in sorted((PUBLISHED / folder / "tables").iterdir()):
        pages = render_pages(todays_matrix(), records, profile=tables.name)
        today = {page.file: set(INTERVAL.findall(page.text)) for page in pages}
        for page in sorted(tables.glob("*.md")):
            other = SIZED_OTHERWISE + SIZED_OTHERWISE_IN_QUICK * (tables.name == "quick")
            if page.stem in other:
                continue
            text = page.read_text(encoding="utf-8").partition(BOUND)[0]
            lines = [line for line in text.splitlines() if not any(each in line for each in other)]
            figures = INTERVAL.findall("\n".join(lines))
            held += len(figures)
            lost += [f"{page.name}: {each}" for each in figures if each not in today.get(page.name, ())]
    assert lost == []
    assert held >= 10 or folder in ABOUT_UPDATES_ALONE


@pytest.mark.parametrize("folder", publications())
def test_the_pages_of_a_publication_are_rendered_again_to_the_same_bytes(folder: str) -> None:
    publication = Publication.at(PUBLISHED / folder)
    if "plans" not in publication.facts:
        assert folder <= LAST_BEFORE_PACKING
        return
    pages = pages_of(publication.root, publication.facts, publication.records())
    differing = [name for name, page in pages.items() if (publication.root / name).read_bytes() != page]
    assert differing == [], (
        f"write them again: .venv/bin/python -m tools.pack_publication results/published/{folder}"
    )
    assert set(pages) == {name for name in publication.facts["files"] if name.startswith("tables/")}
