"""A page shows how a failed launch's log ended, and nothing that was printed can break the page."""

import re

import pytest
from example_records import MACHINE, dqn_records, gae_records, make_record
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.folds import without_folds
from runner.report.tables.pages import render_benchmark

FEW = examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
# What a page is made of, with what steers terminals and renderers.
# No half of a surrogate pair: what was printed is decoded with replacement, and no record could be sealed with one.
NASTY = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("`|<>#~*_\\\r\n\t\x1b\u202e $[]()-=")
    ),
    max_size=400,
)


def failed(
    name: str = "rust", seed: int = 1, *, tail: str = "", detail: str = "exit code 1", kind: str = "exit-code"
) -> Record:
    return make_record(
        benchmark="dqn",
        case="CartPole-v1",
        implementation=name,
        seed=seed,
        parameters={"environment": "CartPole-v1", "steps": 5000},
        machine=MACHINE,
        failure=(kind, detail),
        stderr_tail=tail,
        minute=1,
    )


def section(text: str) -> str:
    return text.partition("\n### Failed, amd64\n")[2].partition("\n### ")[0]


def page(matrix: Matrix, *records: Record, benchmark: str = "dqn") -> str:
    return render_benchmark(matrix, [*dqn_records(), *gae_records(), *records], benchmark, profile="quick")


def test_a_failed_launch_stands_below_the_table_with_its_reason_its_log_and_its_end(matrix: Matrix) -> None:
    record = failed(tail="\n".join(f"line {number}" for number in range(50)))
    found = section(page(matrix, record))
    assert "rust, CartPole-v1, seed 1: exit-code: exit code 1" in found
    assert f"Log: logs/{record.launch.id}.log" in found
    assert "```text\n" + "\n".join(f"line {number}" for number in range(40, 50)) + "\n```" in found


def test_cells_of_one_implementation_that_failed_alike_are_told_once(matrix: Matrix) -> None:
    records = [failed(seed=seed, tail=f"seed {seed}") for seed in (3, 1, 2)]
    found = section(page(matrix, *records, failed(seed=4, kind="deadline", detail="killed after 60 s")))
    assert "rust, CartPole-v1, seeds 1, 2, 3: exit-code: exit code 1" in found
    assert "rust, CartPole-v1, seed 4: deadline: killed after 60 s" in found
    assert found.count("```text") == 1
    assert "It printed nothing on stderr." in found


def test_a_page_without_a_failure_says_nothing_of_failures(matrix: Matrix) -> None:
    assert "### Failed" not in page(matrix)


@pytest.fixture
def harmless_headings(matrix: Matrix) -> list[str]:
    text = page(matrix, failed(tail="x", detail="y"))
    return [line for line in text.splitlines() if line.startswith("#")]


@FEW
@given(tail=NASTY, detail=NASTY)
def test_nothing_that_was_printed_makes_markup_or_ends_its_block(
    matrix: Matrix, harmless_headings: list[str], tail: str, detail: str
) -> None:
    text = without_folds(page(matrix, failed(tail=tail, detail=detail)))
    assert all(each.isprintable() or each == "\n" for each in text)
    prose, fence = [], None
    for line in text.splitlines():
        if fence is None and line.startswith("```"):
            fence = line.removesuffix("text")
        elif fence is not None:
            fence = None if line == fence else fence
        else:
            prose.append(line)
    assert fence is None
    assert not any(re.search(r"(?<!\\)(?:\\\\)*<", line) for line in prose)
    headings = [line for line in prose if line.startswith("#")]
    assert headings == harmless_headings
    assert len(section(text)) < 6000


def test_of_very_many_failures_a_bounded_number_is_told_in_full(matrix: Matrix) -> None:
    many = [failed(seed=seed, kind=f"kind-{seed}", tail="x" * 500) for seed in range(60)]
    found = section(page(matrix, *many))
    assert found.count("```text") == 40
    assert "The table above lists 20 more." in found
    assert "x" * 161 not in found
