"""Returns meet where times do not: seeds of all machines, once each, of the same work."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from example_records import MACHINE, MATRIX, episodes_reaching, example_matrix, make_record

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables import decided
from runner.report.tables.pages import render_benchmark
from tables.test_pages import row

SECTION = "## The same returns?"


def trained(
    implementation: str,
    score: float,
    seeds: Sequence[int] = range(1, 7),
    *,
    steps: int = 5000,
    platform: str = "amd64",
    machine: Mapping[str, object] = MACHINE,
    **changes: object,
) -> list[Record]:
    return [
        make_record(
            benchmark="dqn",
            case="CartPole-v1",
            implementation=implementation,
            seed=seed,
            platform=platform,
            machine=machine,
            parameters={"environment": "CartPole-v1", "steps": steps},
            metrics={"training_seconds": 1.0},
            outputs={},
            episodes=episodes_reaching(score),
            **changes,
        )
        for seed in seeds
    ]


def said(matrix: Matrix, *records: list[Record]) -> list[str]:
    page = render_benchmark(matrix, [each for some in records for each in some], "dqn", profile="quick")
    return row(page.split(SECTION)[1], "CartPole-v1", "rust")[2:]


def test_the_difference_stands_with_its_interval_its_margin_and_its_seeds(matrix: Matrix) -> None:
    found = said(matrix, trained("pytorch", 490), trained("rust", 480))
    assert found[0] == "-10.00"
    assert found[2:] == ["± 25", "6 and 6 of 6", "inconclusive"]


@pytest.mark.parametrize(
    ("margin", "ours", "verdict"), [(470, 480, "equivalent"), (25, 40, "not equivalent")]
)
def test_the_verdict_is_said_in_words(tmp_path: Path, margin: int, ours: int, verdict: str) -> None:
    text = MATRIX.replace("margin: 25", f"margin: {margin}").replace("seeds: 6", "seeds: 40")
    matrix = example_matrix(tmp_path, text)
    found = said(matrix, trained("pytorch", 490, range(1, 41)), trained("rust", ours, range(1, 41)))
    assert found[4] == verdict


def test_without_either_side_there_is_no_verdict(matrix: Matrix) -> None:
    assert said(matrix, trained("rust", 480))[3:] == ["6 and 0 of 6", "not run"]
    assert said(matrix)[0] == "—"


def test_seeds_of_several_machines_and_platforms_are_pooled_and_count_once(matrix: Matrix) -> None:
    other = {**MACHINE, "cpu_model": "Older CPU"}
    found = said(
        matrix,
        trained("pytorch", 490),
        trained("rust", 480, [1, 2, 3]),
        trained("rust", 300, [3, 4], machine=other, minute=1),
        trained("rust", 480, [4, 5], platform="arm64", minute=2),
    )
    assert found[3] == "5 and 6 of 6"
    # Of seeds 1, 2, 3, 4 and 5 only the third is left of what the other machine has made.
    assert found[0] == f"{(4 * 480 + 300) / 5 - 490:+.2f}"


@pytest.mark.parametrize(
    "left_out",
    [
        {"steps": 1000},
        {"image": "an older image"},
        {"command": ["an older command"]},
        {"failure": ("deadline", "60 s passed")},
    ],
)
def test_other_work_older_images_and_failures_are_no_seeds(
    matrix: Matrix, left_out: dict[str, object]
) -> None:
    found = said(
        matrix,
        trained("pytorch", 490),
        trained("rust", 100, [7], **left_out),  # type: ignore[arg-type]  # a parameter of either kind
        trained("rust", 480, minute=1),
    )
    assert found[3] == "6 and 6 of 6"
    assert found[0] == "-10.00"


def test_a_seed_that_failed_later_is_none(matrix: Matrix) -> None:
    failed = trained("rust", 480, [6], failure=("wrong-output", "off by one"), minute=1)
    assert said(matrix, trained("pytorch", 490), trained("rust", 480), failed)[3] == "5 and 6 of 6"


def test_a_seed_that_failed_elsewhere_still_counts_where_it_passed(matrix: Matrix) -> None:
    other = {**MACHINE, "cpu_model": "Slower CPU"}
    failed = trained("rust", 480, [6], failure=("deadline", "60 s passed"), machine=other, minute=1)
    assert said(matrix, trained("pytorch", 490), trained("rust", 480), failed)[3] == "6 and 6 of 6"


def test_a_benchmark_without_a_margin_has_no_such_section(tmp_path: Path) -> None:
    rule = "      equivalence: {CartPole-v1: {margin: 25, worst: 22, best: 500, deviation: 16, seeds: 6}}\n"
    assert rule in MATRIX
    matrix = example_matrix(tmp_path, MATRIX.replace(rule, ""))
    page = render_benchmark(matrix, trained("rust", 480), "dqn", profile="quick")
    assert SECTION not in page
    assert "examined below" not in page


def test_fewer_seeds_than_planned_give_no_verdict(matrix: Matrix) -> None:
    assert said(matrix, trained("pytorch", 490, range(1, 6)), trained("rust", 480))[3:] == [
        "6 and 5 of 6",
        "too few seeds",
    ]


DECIDED = {
    "benchmark": "dqn",
    "case": "CartPole-v1",
    "implementation": "rust",
    "reference": "pytorch",
    "parameters": {"environment": "CartPole-v1", "steps": 5000},
    "margin": 25,
    "seeds": 75,
    "verdict": "equivalent",
    "profile": "quick",
    "publication": "2026-01-01-returns",
}


def below_the_table(
    matrix: Matrix,
    records: Sequence[Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    published: str | None = None,
    **changes: object,
) -> str:
    file = tmp_path / "decided.json"
    file.write_text(json.dumps([{**DECIDED, **changes}]), encoding="utf-8")
    monkeypatch.setattr(decided, "FILE", file)
    decided._all.cache_clear()
    try:
        page = render_benchmark(matrix, records, "dqn", profile="quick", published=published)
    finally:
        decided._all.cache_clear()
    return page.split(SECTION)[1]


def test_a_page_with_too_few_seeds_links_to_the_publication_that_decided(
    matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = trained("pytorch", 490, [1]) + trained("rust", 480, [1])
    verdict = "- CartPole-v1, rust, profile quick: equivalent, by 75 seeds of both sides in "
    linked = below_the_table(matrix, few, tmp_path, monkeypatch, "../../../published")
    page = "../../../published/2026-01-01-returns/tables/quick/dqn.md#the-same-returns"
    assert f"{verdict}[2026-01-01-returns]({page})\n" in linked
    # Elsewhere than in a checkout there is nothing to link to.
    assert f"{verdict}2026-01-01-returns\n" in below_the_table(matrix, few, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {"environment": "CartPole-v1", "steps": 4999}},
        {"margin": 24},
        {"seeds": 5},
        {"reference": "numpy"},
        {"case": "Acrobot-v1"},
        {"implementation": "gone"},
        {"profile": "gone"},
    ],
)
def test_a_verdict_on_another_definition_is_not_named(
    matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    few = trained("pytorch", 490, [1]) + trained("rust", 480, [1])
    assert "2026-01-01" not in below_the_table(matrix, few, tmp_path, monkeypatch, **changes)


def test_seeds_that_are_enough_need_no_other_publication(
    matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough = trained("pytorch", 490) + trained("rust", 480)
    assert "2026-01-01" not in below_the_table(matrix, enough, tmp_path, monkeypatch)
