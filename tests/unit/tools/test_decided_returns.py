"""Which publication decided which returns: what the file says is what the records say."""

from pathlib import Path

import pytest

from runner.matrix import load_matrix
from runner.report.tables.decided import Decided, decided
from tools.decided_returns import PUBLISHED, ROOT, decided_returns, main

MATRIX = load_matrix(ROOT / "matrix.yaml")


def test_the_committed_file_is_what_the_publications_say() -> None:
    assert main([]) == 0, "write it anew: .venv/bin/python -m tools.decided_returns --write"


@pytest.mark.parametrize(
    "found",
    [each for name in ("dqn", "ppo", "sac") for each in decided(MATRIX.benchmarks[name])],
    ids=lambda found: found.benchmark,
)
def test_the_page_that_it_names_says_the_verdict(found: Decided) -> None:
    page, _, place = found.page.partition("#")
    assert place == "the-same-returns"
    section = (PUBLISHED / page).read_text(encoding="utf-8").split("## The same returns?")[1]
    [row] = [row for row in section.splitlines() if f"| {found.implementation} " in row]
    assert row.rstrip("| ").endswith(found.verdict)


def test_publications_with_too_few_seeds_decide_nothing(tmp_path: Path) -> None:
    (tmp_path / "few").symlink_to(PUBLISHED / "2026-11-23-ppo-full")
    assert decided_returns(tmp_path, MATRIX) == "[]\n"
