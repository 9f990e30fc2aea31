import json
from collections.abc import Iterable
from typing import Any

import pytest
from example_records import MACHINE, example_work, json_of, make_record, times

from runner.figures.comparison import Direction, as_json, as_text, compare, direction
from runner.figures.statistics import Verdict
from runner.records.record import Record, record_of
from runner.system.errors import NothingToCompare

CASE = "T=128"
KNOWN = {"benchmark": "gae", "base": "numpy", "against": "rust", "metric": "seconds"}
FIRST = {"toolchain": "trixie", "limits": "default"}


def five(
    implementation: str = "numpy", centre: float = 1e-3, seeds: Iterable[int] = range(1, 6), **changes: Any
) -> list[Record]:
    return [
        make_record(
            implementation=implementation, seed=seed, metrics={"seconds": times(centre, seed)}, **changes
        )
        for seed in seeds
    ]


def pair(**changes: Any) -> list[Record]:
    return five(**changes) + five("rust", 1e-4, **changes)


def test_a_ratio_above_one_says_that_against_is_faster() -> None:
    (found,) = compare(pair(), **KNOWN)
    assert found.ratio == pytest.approx(10, rel=0.05)
    assert found.low < found.ratio < found.high
    assert (found.n, found.verdict) == (5, Verdict.FASTER)


def test_swapping_base_and_against_says_slower() -> None:
    (found,) = compare(pair(), **{**KNOWN, "base": "rust", "against": "numpy"})
    assert found.ratio == pytest.approx(0.1, rel=0.05)
    assert found.verdict is Verdict.SLOWER


def test_where_more_is_better_the_ratio_turns_round() -> None:
    records = [
        make_record(implementation=name, seed=seed, metrics={"steps_per_second": centre + seed})
        for name, centre in (("numpy", 100.0), ("rust", 300.0))
        for seed in range(1, 6)
    ]
    (found,) = compare(records, **{**KNOWN, "metric": "steps_per_second"})
    assert found.ratio == pytest.approx(3, rel=0.05)
    assert found.direction is Direction.MORE
    assert "more is better" in as_text([found], **FIRST)


def test_seconds_and_bytes_are_better_when_less() -> None:
    assert [direction(name) for name in ("seconds", "training_seconds", "peak_bytes")] == [Direction.LESS] * 3
    assert direction("steps_per_second") is Direction.MORE


def test_an_implementation_compared_with_itself_is_inconclusive() -> None:
    (found,) = compare(five(), **{**KNOWN, "against": "numpy"})
    assert (found.ratio, found.verdict) == (1, Verdict.INCONCLUSIVE)


def test_one_result_is_one_json_object_and_several_are_a_list() -> None:
    both = pair() + pair(case="T=2048")
    one = json.loads(as_json(compare(both, **KNOWN, case=CASE)))
    assert {"ratio", "low", "high", "n"} <= one.keys()
    assert one["case"] == CASE
    several = json.loads(as_json(compare(both, **KNOWN)))
    assert [each["case"] for each in several] == ["T=128", "T=2048"]


def test_a_single_process_has_null_bounds_in_json() -> None:
    found = json.loads(as_json(compare(pair(seeds=[1]), **KNOWN)))
    assert (found["low"], found["high"], found["n"], found["verdict"]) == (None, None, 1, "not ranked")


def test_text_fits_eighty_columns_and_names_the_verdict() -> None:
    text = as_text(compare(pair() + pair(case="T=2048") + pair(platform="arm64"), **KNOWN), **FIRST)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("faster") == 3
    assert "gae on arm64: rust against numpy" in text


def test_limits_and_toolchains_other_than_the_first_stand_in_the_heading() -> None:
    found = compare(pair() + pair(under="avx2", minute=1), **KNOWN)
    headings = [line for line in as_text(found, **FIRST).splitlines() if line.startswith("gae on ")]
    assert headings == ["gae on amd64, avx2: rust against numpy", "gae on amd64: rust against numpy"]
    (other, *_) = as_text(found[1:], **{**FIRST, "toolchain": "bookworm"}).splitlines()
    assert other == "gae on amd64, trixie: rust against numpy"


def test_too_few_processes_are_compared_and_not_ranked() -> None:
    (found,) = compare(pair(seeds=[1, 2, 3, 4]), **KNOWN)
    assert found.verdict is Verdict.NOT_RANKED
    assert "n<5" in as_text([found], **FIRST)


def test_the_order_of_the_records_changes_nothing() -> None:
    records = pair() + pair(case="T=2048")
    assert compare(records[::-1], **KNOWN) == compare(records, **KNOWN)


def test_platforms_are_never_mixed() -> None:
    records = five(platform="amd64") + five("rust", 1e-4, platform="arm64")
    with pytest.raises(NothingToCompare, match="differ in platform") as refused:
        compare(records, **KNOWN)
    assert "may not be compared" in refused.value.what


def test_machines_are_never_mixed() -> None:
    other = {**MACHINE, "cpu_model": "Another CPU"}
    with pytest.raises(NothingToCompare, match="machine"):
        compare(five() + five("rust", 1e-4, machine=other), **KNOWN)


def test_images_of_one_target_are_never_mixed() -> None:
    with pytest.raises(NothingToCompare, match="image"):
        compare(five() + five("rust", 1e-4, image="image 2", minute=1), **KNOWN)


def test_images_of_different_targets_may_be_compared() -> None:
    (found,) = compare(five() + five("rust", 1e-4, target="peers"), **KNOWN)
    assert found.verdict is Verdict.FASTER


def test_the_newest_record_of_a_seed_counts() -> None:
    (found,) = compare(pair() + five("rust", 1e-5, minute=1), **KNOWN)
    assert found.ratio == pytest.approx(100, rel=0.05)
    assert found.n == 5


def with_work(records: list[Record], **work: Any) -> list[Record]:
    return [record_of({**json_of(record), "work": example_work(**work)}) for record in records]


def test_processes_of_an_edited_command_are_not_pooled_with_those_of_the_old_one() -> None:
    edited = five("rust", 1e-5, seeds=[1, 2], command=["torchforge", "--better"], minute=1)
    (found,) = compare(pair() + edited, **KNOWN)
    assert found.ratio == pytest.approx(100, rel=0.05)
    assert (found.n, found.verdict) == (2, Verdict.NOT_RANKED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"limits": {"cpus": 2, "memory_bytes": 2**32, "pids": 256, "threads": 1}}),
        ({}, {"inputs": {"command": ["python3", "large"], "cases": {"T=128": {"length": 128}}}}),
    ],
)
def test_times_under_edited_limits_or_of_edited_inputs_are_compared_with_no_older_ones(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    records = with_work(pair(), **old) + with_work(five("rust", 1e-5, minute=1), **new)
    with pytest.raises(NothingToCompare, match="may not be compared"):
        compare(records, **KNOWN)


def test_an_edited_gate_leaves_only_what_it_has_judged() -> None:
    older, newer = {}, {"gate": {**example_work()["gate"], "episodes": "episodes.json"}}
    newest = with_work(five("rust", 1e-5, seeds=[1, 2], minute=1), **newer)
    (found,) = compare(with_work(pair(), **older) + newest, **KNOWN)
    assert found.n == 2


@pytest.mark.parametrize("command", [["python3"], ["torchforge", "--worse"]])
def test_newer_failures_replace_older_passes(command: list[str]) -> None:
    failed = five("rust", failure=("wrong-output", "off by one"), command=command, minute=1)
    with pytest.raises(NothingToCompare) as refused:
        compare(pair() + failed, **KNOWN)
    assert "of 5 records: 5 failed (wrong-output)" in refused.value.why


def test_a_run_of_unknown_execution_displaces_no_native_one() -> None:
    assert compare(pair() + pair(execution="unknown", minute=1), **KNOWN) == compare(pair(), **KNOWN)


def test_a_later_smoke_run_does_not_displace_five_processes() -> None:
    smoke = pair(
        seeds=[1], minute=1, profile="smoke", parameters={"batch": 1, "length": 128, "repetitions": 1}
    )
    (found,) = compare(pair() + smoke, **KNOWN)
    assert (found.n, found.profile) == (5, "quick")


def test_failed_records_never_contribute() -> None:
    failed = five("rust", 1e-9, seeds=[6, 7], failure=("wrong-output", "off by one"))
    assert compare(pair() + failed, **KNOWN) == compare(pair(), **KNOWN)


def test_emulated_times_are_refused_and_the_reason_is_said() -> None:
    with pytest.raises(NothingToCompare) as refused:
        compare(pair(platform="arm64", execution="emulated"), **KNOWN)
    assert "emulated times say nothing about hardware" in refused.value.why


def test_times_of_unknown_execution_are_refused() -> None:
    with pytest.raises(NothingToCompare) as refused:
        compare(pair(execution="unknown"), **KNOWN)
    assert "do not say whether they ran natively" in refused.value.why


def test_emulated_records_beside_native_ones_change_nothing() -> None:
    assert compare(pair() + pair(platform="arm64", execution="emulated"), **KNOWN) == compare(pair(), **KNOWN)


def test_records_that_all_failed_are_refused_with_their_reason() -> None:
    with pytest.raises(NothingToCompare) as refused:
        compare(five() + five("rust", failure=("deadline", "60 s passed")), **KNOWN)
    assert "5 failed (deadline)" in refused.value.why


def test_an_implementation_without_records_is_named() -> None:
    with pytest.raises(NothingToCompare) as refused:
        compare(five(), **KNOWN)
    assert "rust" in refused.value.what
    assert "--only gae/rust" in refused.value.fix


def test_an_unknown_metric_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NothingToCompare) as refused:
        compare(pair(), **{**KNOWN, "metric": "minutes"})
    assert "seconds" in refused.value.why


def test_a_metric_that_is_zero_has_no_ratio() -> None:
    records = [
        make_record(implementation=name, seed=seed, metrics={"seconds": 1.0, "wait_seconds": 0.0})
        for name in ("numpy", "rust")
        for seed in range(1, 6)
    ]
    with pytest.raises(NothingToCompare, match="wait_seconds"):
        compare(records, **{**KNOWN, "metric": "wait_seconds"})


@pytest.mark.parametrize("architectures", [("arm64",), ("amd64",), ("amd64", "arm64")])
def test_each_architecture_named_picks_its_platform(architectures: tuple[str, ...]) -> None:
    found = compare(pair() + pair(platform="arm64"), **KNOWN, architectures=architectures)
    assert tuple(each.platform for each in found) == architectures


def test_other_work_is_compared_with_nothing() -> None:
    def other(record: Record) -> Record:
        return record_of({**json_of(record), "work": example_work(differs=["it sorts first"])})

    with pytest.raises(NothingToCompare) as caught:
        compare([*with_work(five()), *map(other, five("rust", 1e-4))], **KNOWN)
    assert "of 5 records: 5 not the same work" in caught.value.why
