"""What README.md and docs/results/ say of published trainings is what their pages and records hold."""

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents.markdown import Document
from runner.matrix import Matrix, load_matrix
from runner.publishing.check import BEFORE, standing_of
from runner.publishing.pages import MATRIX, pages_of
from runner.records.publication import FACTS, Publication
from runner.records.record import Record, canonical_json, is_intact, sealed
from runner.records.record_file import record_text
from runner.records.store import newest_by_key
from runner.report.tables.pages import render_pages
from runner.verify.read import read_records
from tests.fuzz import corpus
from tools import operation_rows, readme_figures

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results/published"
ALLOWED_SIGNERS = PUBLISHED / "allowed_signers"
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The pages of results, with links as they stand at the root.
RESULTS = [path.read_text(encoding="utf-8").replace("](../../", "](") for path in readme_figures.RESULTS]
ROWS = [
    row
    for text in (README, *RESULTS)
    for row in text.splitlines()
    if re.match(r"\| \[[A-Z]+\]\(results/published/", row)
]
OPERATIONS = [row for text in RESULTS for row in text.splitlines() if operation_rows.ROW.fullmatch(row)]
KNOWN_FAULTS = yaml.safe_load((ROOT / "tools/known_faults.yaml").read_text(encoding="utf-8"))
# Every seal of that day, sorted, a line each.
LAST_BEFORE_PACKING = "2026-11-24-sac-threads"
SEALS = "9bdf1c0bd813834a856291ee9635b79adff572e5ec3f2c28ad79eef898739470"
WEIGHTS = "weights.safetensors"
# Of a row of whole trainings, by its cells: those from start to result, of the lower bound, and of the nearest library.
LEAST_FIGURES = {4: 2, 5: 2, 6: 3}
FIGURE = re.compile(r"[\d.]+x \([\d.]+ to [\d.]+\)|[\d.]+ m?s\b")


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


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What the tests ask of a publication's records, so that each is read once."""

    schemas: Counter[int]
    seals: frozenset[str]
    newest: frozenset[str]
    models: frozenset[Model]
    weights: Mapping[tuple[str, str, int], str | None]
    changes: Sequence[str]


def changed_by_reading(record: Record, text: bytes, data: dict[str, Any]) -> list[str]:
    """What a record does not keep of the line that it was read from; ``data`` are that line's values."""
    kept = {
        "its bytes": canonical_json(record.plain()) + b"\n" == text,
        "its seal": is_intact(data) and sealed(record) == record,
        "its values in a file of its own": json.loads(record_text(record)) == data,
    }
    return [f"{record.identifier}: {what}" for what, holds in kept.items() if not holds]


@cache
def holdings(publication: str) -> Holdings:
    """Reading checks the seal and the form of each record."""
    records = read_records(PUBLISHED / publication)
    by_name = {record.identifier: record for record in records}
    lines, changes = [], []
    for text in corpus.published_texts(publication):
        data = json.loads(text)
        lines.append(data["id"])
        changes += changed_by_reading(by_name[data["id"]], text, data)
    assert sorted(lines) == sorted(by_name), f"other records than the lines of {publication}"
    return Holdings(
        schemas=Counter(record.schema for record in records),
        seals=frozenset(record.content_sha256 for record in records),
        newest=frozenset(record.identifier for record in newest_by_key(records).values()),
        models=frozenset(Model.of(record.machine.plain()) for record in records),
        weights={
            (record.benchmark, record.implementation, record.seed): record.outputs.get(WEIGHTS)
            for record in records
            if record.profile == "full"
        },
        changes=changes,
    )


def weights(publication: str, benchmark: str, implementation: str) -> dict[int, str | None]:
    """The hash of each seed's weights."""
    found = {
        seed: digest
        for (*names, seed), digest in holdings(publication).weights.items()
        if names == [benchmark, implementation]
    }
    assert None not in found.values()
    return found


@pytest.mark.parametrize("publication", corpus.publications())
def test_every_published_record_has_the_seal_and_the_bytes_that_it_had(publication: str) -> None:
    assert holdings(publication).newest
    assert not holdings(publication).changes, f"reading results/published/{publication} does not keep these"


def test_the_first_publications_hold_every_record_as_it_was_sealed() -> None:
    folders = [name for name in FOLDERS if name <= LAST_BEFORE_PACKING]
    assert sum((holdings(name).schemas for name in folders), Counter()) == {1: 248, 2: 3914}
    seals = sorted(seal for name in folders for seal in holdings(name).seals)
    assert len(seals) == 4162
    assert hashlib.sha256("\n".join(seals).encode()).hexdigest() == SEALS


@pytest.mark.parametrize("folder", sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir()))
def test_a_publication_is_packed_and_names_its_cells_and_known_faults(folder: str) -> None:
    assert (PUBLISHED / folder / FACTS).is_file()
    assert not (PUBLISHED / folder / "records").is_dir()
    with (PUBLISHED / folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(holdings(folder).newest)
    assert {row["record"] for row in rows} == holdings(folder).newest
    facts = Publication.at(PUBLISHED / folder).facts
    assert facts["known_faults"] == [" ".join(text.split()) for text in KNOWN_FAULTS.get(folder, ())]


def test_a_known_fault_is_of_a_publication() -> None:
    assert set(KNOWN_FAULTS) <= set(FOLDERS)


def test_the_launches_that_were_left_out_of_a_publication_are_a_known_fault() -> None:
    assert any("TorchRL" in text for text in KNOWN_FAULTS["2026-11-23-ppo-libraries"])


def test_the_readme_shows_whole_trainings() -> None:
    assert len(ROWS) >= 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("/")[2])
def test_every_figure_of_a_training_stands_in_the_page_that_its_row_links_to(row: str) -> None:
    link = re.search(r"\(([^)]+\.md)\)", row)
    assert link is not None, row
    page = ROOT / link[1]
    text = page.read_text(encoding="utf-8")
    if link[1].split("/")[2] <= LAST_BEFORE_PACKING:
        # Where another library is faster, these pages do not compare ours with the reference's variants.
        text += page.with_name("overview.md").read_text(encoding="utf-8")
    figures = FIGURE.findall(row.split("|", maxsplit=2)[2])
    assert len(figures) >= LEAST_FIGURES.get(len(cells(row)), 4), f"figures of {row}: {figures}"
    assert [figure for figure in figures if figure not in text] == [], f"not in {link[1]}"


def test_every_figure_and_flag_of_a_training_is_what_its_records_give() -> None:
    anew = "write it anew: .venv/bin/python -m tools.readme_figures --write"
    assert readme_figures.rewritten(README) == README, anew
    for path in readme_figures.RESULTS:
        text = path.read_text(encoding="utf-8")
        assert readme_figures.rewritten(text) == text, f"{path.name}: {anew}"
    assert sum(", loaded in" in row for row in ROWS) >= 6


def test_an_operation_is_told_by_its_narrowest_and_its_widest_lead() -> None:
    page = "results/published/2026-11-29-numba-and-jax/tables/quick/buffer-sample.md"
    row = f"| [`buffer-sample`]({page}) | AMD A | x | x | x | x |"
    *_, cases, behind, narrowest, widest, other_work = cells(readme_figures.rewritten(row))
    assert (cases, behind) == ("4", "1 inconclusive")
    assert narrowest == "batch=1024: 1.01x (0.833 to 1.44), numpy-tuned, inconclusive"
    assert widest == "batch=32: 1.36x (1.15 to 1.88), rlox"
    assert other_work == "—"


def test_one_case_of_an_operation_names_every_competitor_by_its_time() -> None:
    page = "results/published/2026-11-29-numba-and-jax/tables/quick/env-vector.md"
    *_, loaded, ours, nearest, ratio, others = cells(
        readme_figures.rewritten(f"| [`env-vector`]({page}) n=512 | AMD A | x | x | x | x |")
    )
    assert loaded == "AMD A, loaded in 41 of 50 launches"
    assert (ours, nearest, ratio) == ("18.5 µs", "gymnasium-tuned, 4.45 ms", "241x (230 to 251)")
    assert others == (
        "gymnasium-vectorised 63.1 µs (other work), rlox 90.8 µs (other work), envpool 291 µs (other work), "
        "gymnasium 4.56 ms, sb3 4.76 ms, torchrl 4.88 ms"
    )
    with pytest.raises(ValueError, match="n=3 has no ratio"):
        readme_figures.rewritten(f"| [`env-vector`]({page}) n=3 | AMD A | x | x | x | x |")


def test_a_row_of_the_lower_bound_has_what_its_page_says_of_ours() -> None:
    page = "results/published/2026-11-29-trainings/tables/full/dqn.md"
    *_, bound, ours, faster = cells(
        readme_figures.rewritten(f"| [DQN]({page}), goal 1.0 | AMD A | x | x | x |")
    )
    assert (bound, ours, faster) == ("5.22 s", "5.00 s", "0.957x")


def test_a_row_is_read_with_the_cases_of_its_own_publication() -> None:
    page = "results/published/2026-11-29-operations/tables/full/gae.md"
    today = load_matrix(readme_figures.ROOT / MATRIX, builds=False).benchmarks["gae"].cases["T=128"]
    then = load_matrix(readme_figures.ROOT / page.split("/tables/", maxsplit=1)[0] / MATRIX, builds=False)
    assert then.benchmarks["gae"].cases["T=128"] != today
    *_, cases, _, _, widest, _ = cells(
        readme_figures.rewritten(f"| [`gae`]({page}) | AMD A | x | x | x | x |")
    )
    assert int(cases) > 1
    assert re.search(r"\dx \(", widest)


def test_the_plot_of_the_readme_is_that_of_its_table() -> None:
    assert readme_figures.plot(README) == readme_figures.PLOT.read_text(encoding="utf-8")


def test_the_first_screen_gets_a_column_of_peers_when_a_publication_has_one() -> None:
    heads = ["| training | machine | ours | a | b | c | d |", "|:---|:---|---:|---:|:---|:---|:---|"]
    rows = [
        f"| [{name}](results/published/{folder}/tables/full/{name.lower()}.md) | AMD |{' x |' * 5}"
        for name, folder in (("PPO", "2026-11-23-ppo-libraries"), ("SAC", "2026-11-23-sac-full"))
    ]

    def headline(*rows: str) -> str:
        return "\n".join(("<!-- headline -->", *heads, *rows, "<!-- end of headline -->"))

    with_peer = readme_figures.rewritten(headline(*rows))
    *_, ppo, sac, _ = with_peer.splitlines()
    assert cells(ppo)[7:] == ("candle, 10.8 s", "7.12x (6.28 to 7.59)")
    assert cells(sac)[7:] == ("—", "—")
    assert {len(cells(line)) for line in with_peer.splitlines()[1:-1]} == {9}
    assert readme_figures.rewritten(with_peer) == with_peer
    # Without any peer the table is as narrow as before, and so is one that had a peer once.
    [*_, alone, _] = readme_figures.rewritten(headline(rows[1])).splitlines()
    assert len(cells(alone)) == 7


def test_the_first_screen_names_the_fastest_at_other_work_of_each_training() -> None:
    row = "| [{}](results/published/{}/tables/full/{}.md) | AMD |" + " x |" * 5
    rows = [
        row.format("PPO", "2026-11-23-ppo-libraries", "ppo"),
        row.format("PPO", "2026-11-23-ppo-libraries", "ppo"),
        row.format("SAC", "2026-11-27-sac", "sac"),
        row.format("SAC", "2026-11-23-sac-full", "sac"),
    ]
    line = "Fastest at other work, unranked: what was"
    [*_, written, _] = readme_figures.rewritten(
        "\n".join(("<!-- headline -->", *rows, "", line, "<!-- end of headline -->"))
    ).splitlines()
    # Each training once, although it has two rows.
    assert re.sub(r"\]\([^)]*\)", "]", written) == (
        "Fastest at other work, unranked: PPO rlox 73.9 s ([3 differences]), ours 1.52 s; "
        "SAC rltools 61.1 s ([7 differences]), ours 35.1 s."
    )


def test_a_row_of_libraries_names_the_nearest_and_the_fastest_at_other_work() -> None:
    page = "results/published/2026-11-28-libraries/tables/full/dqn.md"
    words = ("", ", Gymnasium's own environment")
    whole, in_python = [
        cells(readme_figures.rewritten(f"| [DQN]({page}){each} | AMD B | x | x | x | x |"))[-4:]
        for each in words
    ]
    assert whole == ("2.53 s", "jax, 4.98 s", "1.97x (1.85 to 2.04)", "rlox, 36.8 s")
    assert in_python == ("5.24 s", "jax, 4.98 s", "0.949x (0.906 to 0.975), slower", "rlox, 36.8 s")
    without_libraries = "results/published/2026-11-23-sac-full/tables/full/sac.md"
    with pytest.raises(ValueError, match="no library does the work of sac"):
        readme_figures.rewritten(f"| [SAC]({without_libraries}) | AMD B | x | x | x | x |")


def test_the_first_screen_is_of_an_idle_machine() -> None:
    headline = README.partition("<!-- headline -->")[2].partition("<!-- end of headline -->")[0]
    assert sum(line.startswith("| [") for line in headline.splitlines()) == 4
    assert "loaded in" not in headline


def test_a_publication_is_what_it_says_of_itself() -> None:
    """Which those from before the referee cannot be held to: they have no ledger and name no file."""
    standing = {name: standing_of(Publication.at(PUBLISHED / name), ALLOWED_SIGNERS) for name in FOLDERS}
    assert {name for name, lines in standing.items() if BEFORE in lines[0]} == {
        name for name in FOLDERS if name <= LAST_BEFORE_PACKING
    }


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
    sorted(
        path.name
        for path in PUBLISHED.iterdir()
        if path.is_dir() and OF_THE_FIRST_DAY[-1] < path.name <= LAST_BEFORE_PACKING
    ),
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


@pytest.mark.parametrize("folder", sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir()))
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
    assert holdings(folder).models == {MACHINES[name] for name in FOLDERS[folder]}


@pytest.mark.parametrize("row", [*ROWS, *OPERATIONS], ids=lambda row: row.split("/")[2])
def test_a_row_of_the_documents_is_of_the_machine_that_its_publication_names(row: str) -> None:
    assert [cells(row)[1].split(",")[0]] == FOLDERS[row.split("/")[2]]


def cells(row: str) -> tuple[str, ...]:
    """A row of a Markdown table without its padding."""
    return tuple(cell.strip() for cell in row.strip("|").split("|"))


def test_the_document_says_of_each_profile_the_minutes_that_the_matrix_does() -> None:
    document = (ROOT / "docs" / "your-machine.md").read_text(encoding="utf-8")
    profiles = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))["profiles"]
    for name, profile in profiles.items():
        row = next(row for row in document.splitlines() if row.startswith(f"| `{name}`"))
        minutes = profile["minutes"]
        about = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
        assert about in cells(row)[-1], row
