"""Then and now on one machine: which cells got slower, and when nothing can be said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_records import MACHINE, STATE, make_record

from runner.cli.main import main
from runner.records.record import Record
from runner.records.store import Store
from runner.system.errors import NothingToCompare, Regressed, UsageError
from runner.verify.regression import Change, changes, lost

SEEDS = range(1, 7)
OTHER = {**MACHINE, "cpu_model": "Another CPU 1"}
BUSY = {**STATE, "load_1m": 40.0}


def run(seconds: float, *, minute: int = 0, **more: Any) -> list[Record]:
    """Six processes, which differ by 0.1 % each."""
    return [
        make_record(
            seed=seed, minute=minute + seed, metrics={"seconds": [seconds * (1 + seed / 1000)]}, **more
        )
        for seed in SEEDS
    ]


def verdict(old: list[Record], new: list[Record], margin: float = 0.05) -> Change:
    (found,) = changes(old, new, margin=margin, metric="seconds")
    return found.change


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (1.0, Change.SAME),
        (1.02, Change.SAME),
        (1.2, Change.SLOWER),
        (0.8, Change.FASTER),
        (1.05, Change.INCONCLUSIVE),
    ],
)
def test_a_cell_is_slower_only_where_its_whole_interval_lies_beyond_the_margin(factor, expected):
    assert verdict(run(1e-3), run(1e-3 * factor, minute=20)) is expected


def test_the_margin_decides_what_counts_as_the_same():
    old, new = run(1e-3), run(1.2e-3, minute=20)
    assert verdict(old, new, margin=0.3) is Change.SAME


def test_then_and_now_swapped_give_the_opposite():
    old, new = run(1e-3), run(1.5e-3, minute=20)
    assert (verdict(old, new), verdict(new, old)) == (Change.SLOWER, Change.FASTER)


def test_two_machines_are_refused_with_the_fact_in_which_they_differ():
    with pytest.raises(NothingToCompare) as refused:
        changes(run(1e-3), run(1e-3, minute=20, machine=OTHER), margin=0.05)
    assert refused.value.why == "cpu model Another CPU 1, was Example CPU 9000"


def test_emulated_times_are_refused():
    with pytest.raises(NothingToCompare, match="no native record now"):
        changes(run(1e-3), run(1e-3, minute=20, execution="emulated", platform="arm64"), margin=0.05)


def test_cells_without_a_common_name_are_refused():
    with pytest.raises(NothingToCompare, match="no cell"):
        changes(run(1e-3), run(1e-3, minute=20, implementation="rust"), margin=0.05, metric="seconds")


def test_a_metric_that_no_cell_measures_is_named_beside_those_that_are():
    with pytest.raises(NothingToCompare, match="no cell of both has the metric secnds") as refused:
        changes(run(1e-3), run(1e-3, minute=20), margin=0.05, metric="secnds")
    assert "seconds" in refused.value.why


def test_a_loaded_machine_blames_nobody():
    assert verdict(run(1e-3), run(2e-3, minute=20, state=BUSY)) is Change.INCONCLUSIVE
    assert verdict(run(1e-3), run(1e-3, minute=20, state=BUSY)) is Change.SAME


def test_fewer_than_five_processes_say_nothing():
    assert verdict(run(1e-3)[:4], run(2e-3, minute=20)) is Change.INCONCLUSIVE


def test_other_work_under_the_same_name_is_not_compared():
    (found,) = changes(
        run(1e-3), run(2e-3, minute=20, counts={"elements": 256}), margin=0.05, metric="seconds"
    )
    assert (found.change, found.ratio) == (Change.INCONCLUSIVE, None)


def test_a_cell_that_fails_now_got_worse():
    now = run(1e-3, minute=20, failure=("wrong-output", "far off"))
    (found,) = changes(run(1e-3), now, margin=0.05, metric="seconds")
    assert (found.change, found.why, found.regressed) == (Change.FAILS, "wrong-output", True)


def test_a_cell_of_which_some_processes_fail_now_got_worse():
    good, bad = run(1e-3, minute=20), run(1e-3, minute=20, failure=("wrong-output", "far off"))
    (found,) = changes(run(1e-3), [*good[:5], bad[5]], margin=0.05, metric="seconds")
    assert (found.change, found.why) == (Change.FAILS, "wrong-output in 1 of 6 processes")
    (again,) = changes([*good[:5], bad[5]], [*good[:5], bad[5]], margin=0.05, metric="seconds")
    assert again.change is Change.SAME, "that process failed then already"


def test_a_metric_that_is_not_measured_any_more_is_no_failure():
    old = [
        make_record(seed=seed, metrics={"seconds": [1e-3], "more_seconds": [1e-3]}, minute=seed)
        for seed in SEEDS
    ]
    (found,) = changes(old, run(1e-3, minute=20), margin=0.05, metric="more_seconds")
    assert (found.change, found.why) == (Change.INCONCLUSIVE, "it is not measured any more")


def test_machines_that_differ_in_their_caches_alone_are_not_compared():
    other = {**MACHINE, "caches": {"L1d": "1K"}}
    (found,) = changes(run(1e-3), run(2e-3, minute=20, machine=other), margin=0.05, metric="seconds")
    assert found.change is Change.INCONCLUSIVE
    assert found.why.startswith("another machine: caches")


def test_cells_that_are_gone_are_counted():
    assert lost([*run(1e-3), *run(1e-3, implementation="rust")], run(1e-3, minute=20)) == 1


@pytest.fixture
def places(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    def write(old: list[Record], new: list[Record]) -> tuple[str, str]:
        for name, records in (("old", old), ("new", new)):
            for record in records:
                Store(tmp_path / name).add(record)
        return str(tmp_path / "old"), str(tmp_path / "new")

    return write


def test_the_command_says_each_cell_and_its_exit_code_is_for_a_pipeline(places, capsys):
    old, new = places(run(1e-3), run(1.5e-3, minute=20))
    assert main(["compare", old, new, "--metric", "seconds"]) == Regressed.exit_code
    said = capsys.readouterr()
    assert "0.667x" in said.out
    assert "T=128 numpy: slower" in said.err
    assert main(["compare", new, old, "--metric", "seconds", "--format", "json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)
    assert (cell["change"], cell["ratio"]["n"]) == ("faster", 6)


@pytest.mark.parametrize("words", [["--case", "T=129"], ["--arch", "arm64"]])
def test_a_case_or_an_architecture_without_records_is_named_beside_the_others(places, capsys, words):
    old, new = places(run(1e-3), run(1e-3, minute=20))
    assert main(["compare", old, new, *words]) == UsageError.exit_code
    assert "its cases are T=128, on amd64" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["a"], ["a", "b", "c"], ["a", "b", "--base", "x"], ["a", "b", "--results", "x"], ["--margin", "5%"], []],
)
def test_half_a_question_is_refused(capsys, words):
    assert main(["compare", *words]) == UsageError.exit_code
    assert "compare" in capsys.readouterr().err


@pytest.mark.parametrize("margin", ["0", "-1", "x", "100%", "nan"])
def test_a_margin_is_a_share(capsys, margin):
    assert main(["compare", "a", "b", f"--margin={margin}"]) == UsageError.exit_code
    assert "per cent" in capsys.readouterr().err
