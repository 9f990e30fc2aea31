"""What the README says of published trainings is what their pages and records hold."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents.markdown import Document

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results/published"
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = [row for row in README.splitlines() if re.match(r"\| \[[A-Z]+\]\(results/published/", row)]
FIGURE = re.compile(r"[\d.]+x \([\d.]+ to [\d.]+\)|[\d.]+ m?s\b")


def weights(publication: str, benchmark: str, implementation: str) -> dict[int, str]:
    """The hash of each seed's weights."""
    found = {}
    for path in (PUBLISHED / publication / "records" / benchmark).glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["cell"]["implementation"] == implementation and record["profile"] == "full":
            found[record["cell"]["seed"]] = record["outputs"]["weights.safetensors"]
    return found


def test_the_readme_shows_whole_trainings() -> None:
    assert len(ROWS) >= 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("/")[2])
def test_every_figure_of_a_training_stands_in_the_page_that_its_row_links_to(row: str) -> None:
    link = re.search(r"\(([^)]+\.md)\)", row)
    assert link is not None, row
    page = ROOT / link[1]
    # Where another library is faster than all of the reference's variants, only the overview compares ours with these.
    text = page.read_text(encoding="utf-8") + page.with_name("overview.md").read_text(encoding="utf-8")
    figures = FIGURE.findall(row.split("|", maxsplit=2)[2])
    assert len(figures) >= 4, f"figures of {row}: {figures}"
    assert [figure for figure in figures if figure not in text] == [], (
        f"not in {link[1]} or the overview beside it"
    )


# Of each training runs on two machines with AVX-512, and one on a machine without.
ON_THREE_MACHINES = [
    ("dqn", "2026-11-22-dqn-full", "2026-11-22-dqn-amd", "2026-11-22-avx2-full"),
    ("ppo", "2026-11-22-ppo-full", "2026-11-22-ppo-returns", "2026-11-22-avx2-full"),
    ("sac", "2026-11-22-sac-full", "2026-11-22-sac-returns", "2026-11-23-sac-avx2"),
]


@pytest.mark.parametrize(("benchmark", "one", "another", "without_avx512"), ON_THREE_MACHINES)
def test_trainings_in_rust_end_with_the_same_weights_on_other_machines(
    benchmark: str, one: str, another: str, without_avx512: str
) -> None:
    first, second, third = (weights(each, benchmark, "rust") for each in (one, another, without_avx512))
    assert sorted(first) == [1, 2, 3, 4, 5]
    assert first == third
    assert first == {seed: second[seed] for seed in first}


@pytest.mark.parametrize(("benchmark", "one", "another", "without_avx512"), ON_THREE_MACHINES)
def test_trainings_in_pytorch_end_with_the_same_weights_only_where_both_machines_have_avx512(
    benchmark: str, one: str, another: str, without_avx512: str
) -> None:
    first, second, third = (weights(each, benchmark, "pytorch") for each in (one, another, without_avx512))
    assert sorted(first) == [1, 2, 3, 4, 5]
    assert first == {seed: second[seed] for seed in first}
    assert [seed for seed in first if first[seed] == third[seed]] == []


def test_two_threads_end_with_the_weights_of_one() -> None:
    assert weights("2026-11-24-sac-threads", "sac-threads", "rust") == weights(
        "2026-11-24-dqn-sac", "sac", "rust"
    )


@pytest.mark.parametrize(
    ("benchmark", "before"), [("dqn", "2026-11-22-dqn-full"), ("sac", "2026-11-22-sac-full")]
)
def test_faster_kernels_end_with_the_weights_of_the_slower_ones(benchmark: str, before: str) -> None:
    faster = weights("2026-11-24-dqn-sac", benchmark, "rust")
    assert sorted(faster) == [1, 2, 3, 4, 5]
    assert faster == weights(before, benchmark, "rust")


@pytest.mark.parametrize("benchmark", ["dqn", "ppo"])
@pytest.mark.parametrize("implementation", ["rust", "pytorch", "pytorch-tuned"])
def test_trainings_that_are_held_to_avx2_end_as_on_a_machine_that_has_no_more(
    benchmark: str, implementation: str
) -> None:
    held = weights("2026-11-23-avx2-capped", benchmark, implementation)
    assert sorted(held) == [1, 2, 3, 4, 5]
    assert held == weights("2026-11-22-avx2-full", benchmark, implementation)


@pytest.mark.parametrize(("benchmark", "edge"), [("dqn", "edge"), ("ppo", "edge-ppo")])
def test_trainings_in_the_edge_image_end_as_in_the_other(benchmark: str, edge: str) -> None:
    assert weights("2026-11-23-edge", edge, "rust") == weights(
        f"2026-11-23-{benchmark}-libraries", benchmark, "rust"
    )


@dataclass(frozen=True)
class Model:
    """What a record says of its machine, as far as the table of machines names it."""

    processor: str
    caches: str
    avx512: str

    @staticmethod
    def of(machine: Mapping[str, Any]) -> "Model":
        caches = ", ".join(machine["caches"][level] for level in ("L1d", "L1i", "L2"))
        return Model(machine["cpu_model"], caches, "yes" if "avx512f" in machine["simd"] else "no")


PUBLISHED_README = Document(PUBLISHED / "README.md")
MACHINES = {
    row[0]: Model(*row[1:4]) for rows in PUBLISHED_README.tables() if rows[0][0] == "name" for row in rows[2:]
}
FOLDERS = {
    re.findall(r"2026[a-z0-9-]+", row[0])[0]: row[1].split(",")[0].split(" and ")
    for rows in PUBLISHED_README.tables()
    if rows[0][0] == "folder"
    for row in rows[2:]
}


def test_every_publication_has_a_row() -> None:
    assert set(FOLDERS) == {path.name for path in PUBLISHED.iterdir() if path.is_dir()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_records_of_a_publication_are_of_the_machine_that_its_row_names(folder: str) -> None:
    paths = (PUBLISHED / folder / "records").rglob("*.json")
    found = {Model.of(json.loads(path.read_text(encoding="utf-8"))["machine"]) for path in paths}
    assert found == {MACHINES[name] for name in FOLDERS[folder]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("/")[2])
def test_a_training_of_the_readme_is_of_the_machine_that_its_publication_names(row: str) -> None:
    assert [cells(row)[1].split(",")[0]] == FOLDERS[row.split("/")[2]]


def test_the_quick_table_of_the_readme_is_that_of_its_page() -> None:
    link = re.search(r"\((results/published/[^)]+/tables/quick/overview\.md)\)", README)
    assert link is not None
    page = {cells(row)[:3] for row in (ROOT / link[1]).read_text(encoding="utf-8").splitlines() if "|" in row}
    table = README[README.index("| benchmark ") : README.index("<!-- end of table -->")].splitlines()
    rows = [cells(row) for row in table if not row.startswith("|:")]
    assert len(rows) > 10
    assert [row for row in rows if row not in page] == [], f"not in {link[1]}"


def cells(row: str) -> tuple[str, ...]:
    """A row of a Markdown table without its padding."""
    return tuple(cell.strip() for cell in row.strip("|").split("|"))


def test_the_readme_says_of_each_profile_the_minutes_that_the_matrix_does() -> None:
    profiles = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))["profiles"]
    for name, profile in profiles.items():
        row = next(row for row in README.splitlines() if row.startswith(f"| `{name}`"))
        minutes = profile["minutes"]
        about = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
        assert about in cells(row)[-1], row
