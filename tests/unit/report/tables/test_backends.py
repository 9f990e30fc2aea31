"""What the page of `backend` decides follows from the records, and is silent where they are."""

import pytest
from example_records import COUNTED, MATRIX, example_matrix, make_record, scaled

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.pages import render_benchmark
from tables.test_pages import row

BACKEND = """
  backend:
    title: Backends
    kind: operation
    decision: backend
    headline: seconds
    inputs: [python3, inputs]
    counts: {gradient_steps: calls}
    gate: {outputs: {update.safetensors: {scaled: 1.0e-4}}}
    cases:
      CartPole-v1: {calls: 100}
    profiles:
      smoke: {without: [candle, burn], native: {repetitions: 1}, emulated: {repetitions: 1}}
      quick: {native: {repetitions: 9}, emulated: {repetitions: 1}}
    implementations:
      pytorch: {command: [python3, update], reference: true}
      rust: {command: [torchforge, dqn-update], side: ours}
      candle: {command: [torchforge-candle, dqn-update, --backend, candle], image: backends}
      burn: {command: [torchforge-burn, dqn-update, --backend, burn], image: backends}
"""
MEASURED = {"compile_seconds": 341.8, "program_bytes": 4.0 * 2**20}


@pytest.fixture(scope="module")
def with_backends(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("backend"), MATRIX + BACKEND.lstrip("\n"))


def records(seconds: dict[str, float], seeds: int = 5, **changes: object) -> list[Record]:
    return [
        make_record(
            benchmark="backend",
            case="CartPole-v1",
            implementation=name,
            seed=seed,
            target="backends" if name in ("candle", "burn") else "core",
            **{  # type: ignore[arg-type]  # each of its own type
                "parameters": {"calls": 100, "repetitions": 9},
                "metrics": {"seconds": [each] * 3, **MEASURED},
                "outputs": {},
                "gate": [COUNTED, scaled("gradient.0.weight", difference=f"{seed}e-06", bound="0.0001")],
                **changes,
            },
        )
        for name, each in seconds.items()
        for seed in range(1, seeds + 1)
    ]


def section(matrix: Matrix, found: list[Record], profile: str = "quick") -> str:
    page = render_benchmark(matrix, found, "backend", profile=profile)
    return page.split("### What each backend costs, amd64\n")[1].split("\n## ")[0]


def test_the_fastest_stays_and_every_cost_stands_beside_it(with_backends: Matrix) -> None:
    text = section(with_backends, records({"pytorch": 1e-3, "rust": 1e-4, "candle": 6e-4, "burn": 3e-4}))
    assert row(text, "CartPole-v1", "candle")[2:] == [
        "600 µs (600 to 600)",
        "342 s",
        "4.00 MiB",
    ]
    assert "rust against candle: 6.00x (6.00 to 6.00) faster." in text
    assert "rust against burn: 3.00x (3.00 to 3.00) faster." in text
    assert "- rust stays: no library is as fast" in text
    assert "5.00 % of the bound (gradient.0.weight)" in text.split("### Whether its gradients are right")[1]
    assert "Left open" not in text


def test_a_faster_library_is_said_to_be_faster(with_backends: Matrix) -> None:
    text = section(with_backends, records({"pytorch": 1e-3, "rust": 2e-4, "candle": 6e-4, "burn": 1e-4}))
    assert "rust against burn: 0.500x (0.500 to 0.500) slower." in text
    assert "Another backend is faster than rust" in text
    assert "rust stays" not in text


def test_equal_times_leave_the_costs_to_decide(with_backends: Matrix) -> None:
    text = section(with_backends, records({"pytorch": 1e-3, "rust": 2e-4, "candle": 2e-4, "burn": 3e-4}))
    assert "None is shown to be faster than rust, nor rust than all" in text


def test_what_is_missing_is_left_open_by_name(with_backends: Matrix) -> None:
    metrics = {"seconds": [6e-4]}
    found = records({"pytorch": 1e-3, "rust": 1e-4}) + records({"candle": 6e-4}, metrics=metrics)
    text = section(with_backends, found)
    assert "rust stays: no library that has figures is as fast" in text
    open_ = text.split("Left open:")[1]
    assert "- CartPole-v1, burn: not run" in open_
    assert "- CartPole-v1, candle: compiling is not in its records" in open_
    assert "- CartPole-v1, candle: program is not in its records" in open_
    assert row(text, "CartPole-v1", "candle")[3:] == ["—", "—"]


def test_too_few_processes_decide_nothing(with_backends: Matrix) -> None:
    text = section(with_backends, records({"pytorch": 1e-3, "rust": 1e-4, "candle": 6e-4}, seeds=4))
    assert "Nothing is decided." in text
    assert "- CartPole-v1, candle: fewer than five processes" in text


def test_a_profile_without_other_backends_decides_nothing(with_backends: Matrix) -> None:
    shorter = {"calls": 100, "repetitions": 1}
    found = records({"pytorch": 1e-3, "rust": 1e-4}, seeds=1, parameters=shorter)
    assert "this profile lacks our time, or another backend" in section(with_backends, found, "smoke")
