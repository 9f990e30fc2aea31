"""The summary's cells say what the benchmarks' own pages say, and lead there."""

from collections.abc import Sequence

import pytest
from example_records import dqn_records, gae_records

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.html.report import report
from runner.report.tables.pages import render_pages
from tables.summary.made import MATRIX, OURS, PROFILE, leads, timed
from tables.test_pages import row

GAE = ("gae", "T=2048")
LABEL = "[GAE, 2,048 steps](gae.md)"


def summary(records: Sequence[Record]) -> str:
    [page] = [each for each in render_pages(MATRIX, records, profile=PROFILE) if each.file == "summary.md"]
    return page.text


def test_a_row_has_ours_and_the_fastest_of_each_column_and_leads_to_its_page() -> None:
    records = leads(
        {
            (*GAE, "numpy"): 100,
            (*GAE, "numpy-tuned"): 40,
            (*GAE, "torchrl"): 1600,
            (*GAE, "torchrl-vec"): 70,
            (*GAE, "rlox"): 0.5,
            (*GAE, "numba"): 0.25,
            (*GAE, "jax"): 3,
        }
    )
    assert row(summary(records), LABEL)[1:] == [
        "1.00 µs (1.00 to 1.00): torchforge",
        "—",
        "70.0x (70.0 to 70.0) faster: torchrl-vec",
        "40.0x (40.0 to 40.0) faster: numpy-tuned",
        "0.500x (0.500 to 0.500) slower: rlox",
        "0.250x (0.250 to 0.250) slower: numba",
        "3.00x (3.00 to 3.00) faster: jax",
    ]


def test_a_row_without_records_is_left_out() -> None:
    text = summary(leads({(*GAE, "numpy"): 100}))
    assert "Buffer push" not in text
    assert "### Operations" in text
    assert "### Networks" not in text
    assert "### Post-training" not in text


def test_what_failed_was_not_run_or_is_unranked_says_so() -> None:
    failure = ("wrong-output", "advantages.npy: largest difference 0.1")
    records = [
        *timed(*GAE, "torchforge", OURS),
        *timed(*GAE, "torchrl", 2 * OURS, failure=failure),
        *timed(*GAE, "numpy", 2 * OURS, seeds=[1, 2]),
    ]
    assert row(summary(records), LABEL)[3:] == [
        "failed",
        r"2.00x (2.00 to 2.00), n\<5: not ranked: numpy",
        "not run",
        "not run",
        "not run",
    ]


def test_a_column_without_a_time_at_the_same_work_shows_that_of_other_work() -> None:
    records = leads({("rollout", "64x512", "rlox"): 0.5, ("rollout", "64x512", "gymnasium"): 2})
    found = row(summary(records), "[Rollout, 64 environments x 512 steps](rollout.md)")
    assert found[4:6] == ["2.00x (2.00 to 2.00) faster: gymnasium", "other work: rlox 500 ns"]


def test_ours_that_failed_has_no_ratio() -> None:
    records = [
        *timed(*GAE, "torchforge", OURS, failure=("deadline", "60 s passed")),
        *timed(*GAE, "numpy", 2 * OURS),
    ]
    assert row(summary(records), LABEL)[1] == "failed"
    assert row(summary(records), LABEL)[4] == "—"


def test_emulated_times_are_not_ranked_and_decide_no_finding() -> None:
    emulated = {"platform": "arm64", "execution": "emulated", "seeds": [1]}
    records = [
        record
        for name, seconds in (("torchforge", OURS), ("numpy", 2 * OURS))
        for record in timed("gae", "T=2048", name, seconds, **emulated)  # type: ignore[arg-type]  # each of its own type
    ]
    text = summary(records)
    assert "## arm64" in text
    assert "## amd64" not in text
    assert row(text, LABEL)[4] == "not ranked"
    assert "### Findings" not in text


def test_networks_have_times_and_ours_against_the_fastest_competitor() -> None:
    step = ("nn-step", "dqn-64")
    found = {
        (*step, "pytorch"): 8.0,
        (*step, "pytorch-tuned"): 4.0,
        (*step, "burn"): 3.0,
        (*step, "jax"): 2.0,
    }
    assert row(summary(leads(found, "rust")), "[DQN step, batch 64](nn-step.md)")[1:] == [
        "1.00 µs (1.00 to 1.00): rust",
        "3.00 µs (3.00 to 3.00): burn",
        "not run",
        "4.00 µs (4.00 to 4.00): pytorch-tuned",
        "not run",
        "2.00 µs (2.00 to 2.00): jax",
        "2.00x (2.00 to 2.00) faster: jax",
    ]


def test_findings_stand_below_the_tables_and_those_without_figures_apart() -> None:
    by_number = {"n=1": 20, "n=256": 100, "n=512": 200}
    text = summary(leads({("env-vector", case, "gymnasium"): lead for case, lead in by_number.items()}))
    decided, _, lacking = text.partition("### Findings that were not measured, amd64")
    assert "- **The lead at stepping environments widens with their number: holds here.** " in decided
    assert "; torchforge takes 512,000,000 steps a second at n=512.\n" in decided
    assert ": does not hold here.** " in decided
    assert "- Ours has the shorter tail" in lacking


def test_a_run_without_any_measured_finding_says_so() -> None:
    text = summary(leads({(*GAE, "rlox"): 2}))
    assert "No finding was measured here." in text


@pytest.mark.parametrize(("records", "there"), [(gae_records(), True), (dqn_records(), False)])
def test_the_page_and_its_link_are_there_where_it_has_a_row(
    matrix: Matrix, records: Sequence[Record], there: bool
) -> None:
    pages = {each.file: each.text for each in render_pages(matrix, records, profile="quick")}
    assert ("summary.md" in pages) == there
    assert ("(summary.md)" in pages["overview.md"]) == there
    assert ('<a href="#summary">' in report(pages, profile="quick")) == there
