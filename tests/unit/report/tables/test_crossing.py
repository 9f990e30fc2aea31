"""What the page of `ffi` decides follows from the records, and is silent where they are."""

import re
from pathlib import Path

import pytest
from example_records import MATRIX, example_matrix, make_record

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.pages import render_benchmark
from tables.test_pages import row

FFI = """
  ffi:
    title: Steps
    kind: operation
    decision: crossing
    headline: seconds
    inputs: [python3, inputs]
    counts: {environment_steps: calls * environments}
    gate: {outputs: {observations.npy: {rtol: 0, atol: 0}}}
    cases:
      single: {environments: 1, calls: 10}
      n=8: {environments: 8, calls: 10}
      n=64: {environments: 64, calls: 10}
    profiles:
      smoke: {native: {repetitions: 1}, emulated: {repetitions: 1}}
      quick: {native: {repetitions: 9}, emulated: {repetitions: 1}}
    implementations:
      gymnasium: {command: [python3, gymnasium], reference: true}
      gymnasium-vectorised: {command: [python3, vectorised], side: reference, differs: [its resets are others]}
      torchforge: {command: [python3, torchforge], side: ours}
      rust: {command: [torchforge, env-step], side: kernel}
"""
ENVIRONMENTS = {"single": 1, "n=8": 8, "n=64": 64}
# Seconds a call: the crossing is 80 ns, a step 20 ns.
TIMES = {
    "gymnasium": {"single": 5e-6, "n=8": 40e-6, "n=64": 320e-6},
    "torchforge": {"single": 100e-9, "n=8": 240e-9, "n=64": 1360e-9},
    "rust": {"single": 20e-9, "n=8": 160e-9, "n=64": 1280e-9},
}


@pytest.fixture(scope="module")
def with_ffi(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("ffi"), MATRIX + FFI.lstrip("\n"))


def records(
    times: dict[str, dict[str, float]],
    seeds: int = 5,
    *,
    repetitions: int = 9,
    **changes: object,
) -> list[Record]:
    return [
        make_record(
            benchmark="ffi",
            case=case,
            implementation=name,
            seed=seed,
            parameters={"environments": ENVIRONMENTS[case], "calls": 10, "repetitions": repetitions},
            metrics={"seconds": [seconds] * 3},
            outputs={},
            **changes,  # type: ignore[arg-type]  # each of its own type
        )
        for name, by_case in times.items()
        for case, seconds in by_case.items()
        for seed in range(1, seeds + 1)
    ]


def section(matrix: Matrix, found: list[Record], platform: str = "amd64") -> str:
    page = render_benchmark(matrix, found, "ffi", profile="quick")
    return page.split(f"### What the crossing costs, {platform}\n")[1].split("\n## ")[0]


def test_the_least_batch_is_that_from_which_on_most_of_a_call_is_work(with_ffi: Matrix) -> None:
    text = section(with_ffi, records(TIMES))
    assert row(text, "single")[1:] == [
        "1",
        "5.00 µs: gymnasium",
        "100 ns: torchforge",
        "20.0 ns: rust",
        "80.0 ns",
        "80%",
    ]
    assert "Cross once per batch, of 8 environments at least: at n=8 the crossing is 33 % (33 to 33)" in text
    assert "With fewer a call it is up to 80 % (80 to 80)." in text
    assert "saves 80.0 ns a step over the module at single, and 1.25 ns at n=64." in text
    assert "50.0x to 235x faster (single, n=8, n=64)." in text
    assert "Left open" not in text


def test_a_batch_that_pays_does_not_count_while_a_larger_one_does_not(with_ffi: Matrix) -> None:
    times = {**TIMES, "torchforge": {**TIMES["torchforge"], "n=64": 5000e-9}}
    text = section(with_ffi, records(times))
    assert (
        "At no size measured is the crossing shown to be less than 50% of a call; at n=64 it is 74 %" in text
    )


def test_a_crossing_that_is_small_at_once_lets_every_step_cross(with_ffi: Matrix) -> None:
    times = {**TIMES, "torchforge": {**TIMES["torchforge"], "single": 25e-9}}
    assert "already at single the crossing is 20 % (20 to 20) of a call." in section(with_ffi, records(times))


def test_who_is_faster_in_python_at_other_work_is_named_where_that_is_so(with_ffi: Matrix) -> None:
    vectorised = {"single": 6e-6, "n=8": 20e-6, "n=64": 30e-6}
    said = section(with_ffi, records({**TIMES, "gymnasium-vectorised": vectorised}))
    assert (
        "In Python, with a smaller median at work that is not the same: "
        "gymnasium-vectorised, 20.0 µs a call at n=8, 30.0 µs a call at n=64." in said
    )
    assert "work that is not the same" not in section(with_ffi, records(TIMES))


def test_a_module_that_is_no_slower_than_the_kernel_saves_nothing(with_ffi: Matrix) -> None:
    text = section(with_ffi, records({**TIMES, "torchforge": TIMES["rust"]}))
    assert row(text, "single")[5:] == ["none", "0%"]
    assert "No time is saved by keeping the whole loop in Rust." in text


def test_a_case_that_lacks_a_row_is_left_open_and_says_why(with_ffi: Matrix) -> None:
    times = {**TIMES, "rust": {"single": 20e-9, "n=64": 1280e-9}}
    failed = records({"torchforge": {"n=64": 1e-6}}, failure=("deadline", "60 s passed"), minute=1)
    text = section(with_ffi, records(times) + failed)
    assert row(text, "n=8")[4:] == ["—", "—", "—"]
    open_ = text.split("Left open:")[1]
    assert "- n=8: rust not run" in open_
    assert "- n=64: torchforge failed" in open_
    # What is decided names no case that is left open.
    assert not re.search(r"n=(8|64)", text.split("### Decision")[1].split("Left open:")[0])


@pytest.mark.parametrize(
    ("found", "platform", "why"),
    [
        (records(TIMES, seeds=4), "amd64", "fewer than five processes"),
        (
            records(TIMES, seeds=1, repetitions=1, platform="arm64", execution="emulated"),
            "arm64",
            "these times are not compared",
        ),
    ],
)
def test_what_is_not_ranked_decides_nothing(
    with_ffi: Matrix, found: list[Record], platform: str, why: str
) -> None:
    text = section(with_ffi, found, platform)
    assert "Nothing is decided: every case lacks a figure." in text
    assert f"- single: {why}" in text


def test_only_a_benchmark_that_asks_for_it_has_a_decision(matrix: Matrix, tmp_path: Path) -> None:
    without = example_matrix(tmp_path, MATRIX + FFI.lstrip("\n").replace("    decision: crossing\n", ""))
    assert "### Decision" not in render_benchmark(without, records(TIMES), "ffi", profile="quick")
