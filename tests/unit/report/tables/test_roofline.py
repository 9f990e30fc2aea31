"""The lower bound on a page: the least work against the best rates measured on the same machine."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from example_records import MACHINE, example_matrix, make_record

from runner.records.record import Record
from runner.report.tables.pages import render_benchmark

_OPERATION = """
    kind: operation
    headline: seconds
    inputs: [python3, inputs]
    gate: {{outputs: {{result.npy: {{rtol: 0}}}}}}
    profiles:
      quick: {{native: {{repetitions: 9}}, emulated: {{repetitions: 1}}}}
    implementations:
      numpy: {{command: [python3, {name}], reference: true}}
"""
MATRIX = """
version: 1
toolchains:
  trixie: {suite: trixie, rust: 1.96.0, python: 3.13.5, pytorch: 2.6.0}
platforms:
  amd64: {architecture: amd64}
limits:
  default: {cpus: 1, memory: 4GiB, pids: 256, threads: 1}
profiles:
  quick:
    minutes: 1
    seeds: {native: [1, 2, 3, 4, 5], emulated: [1]}
    deadline_seconds: {native: 60, emulated: 60}
benchmarks:
""" + "".join(
    f"  {name}:\n    title: {name}{_OPERATION.format(name=name)}{more}"
    for name, more in {
        "update": """      rust: {command: [torchforge, update]}
    counts: {updates: repetitions}
    cases: {small: {rows: 1000}, large: {rows: 2000}}
    roofline:
      operations: multiply
      bytes: copy
      cases:
        small: {operations: 1000 * rows, bytes: 8 * rows, copied: 4KiB}
        large: {operations: 1000 * rows, bytes: 500000 * rows, copied: 4KiB}
""",
        "multiply": """    counts: {operations: 2 * size * size * size}
    cases: {n=64: {size: 64}, n=100: {size: 100}}
""",
        "copy": """    counts: {bytes: 8 * size}
    cases: {4KiB: {size: 512}}
""",
    }.items()
)
TRAINING = (
    MATRIX
    + """
  learn:
    title: learn
    kind: training
    headline: training_seconds
    inputs: [python3, inputs]
    counts: {gradient_steps: steps - 1}
    gate: {outputs: {update.npy: {rtol: 0}}, episodes: episodes.json}
    returns: {episodes: 100}
    updates: {benchmark: update, count: gradient_steps, cases: {pole: small}}
    cases: {pole: {steps: 1001}, car: {steps: 1001}}
    profiles:
      quick: {native: {repetitions: 9}, emulated: {repetitions: 1}}
    implementations:
      numpy: {command: [python3, learn], reference: true}
      rust: {command: [torchforge, learn], side: ours}
"""
)


def of(benchmark: str, case: str, seconds: float, parameters: dict[str, Any], **more: Any) -> list[Record]:
    return [
        make_record(
            benchmark=benchmark,
            case=case,
            seed=seed,
            metrics={"seconds": [seconds]},
            parameters={**parameters, "repetitions": 9},
            **more,
        )
        for seed in range(1, 6)
    ]


def rates(**more: Any) -> list[Record]:
    """10 G operations a second at n=64 and 20 G at n=100; 4 G bytes a second."""
    return [
        *of("multiply", "n=64", 52.4288e-6, {"size": 64}, counts={"operations": 2 * 64**3}, **more),
        *of("multiply", "n=100", 100e-6, {"size": 100}, counts={"operations": 2 * 100**3}, **more),
        *of("copy", "4KiB", 1.024e-6, {"size": 512}, counts={"bytes": 4096}, **more),
    ]


def updates() -> list[Record]:
    """Both cases by rust: 1 million operations, and 2 million whose bytes take longer."""
    return [
        *of("update", "small", 100e-6, {"rows": 1000}, implementation="rust"),
        *of("update", "large", 1.0, {"rows": 2000}, implementation="rust"),
    ]


def page(directory: Path, records: Sequence[Record]) -> str:
    return render_benchmark(example_matrix(directory, MATRIX), records, "update", profile="quick")


def training(case: str, implementation: str, seconds: float, *, repetitions: int = 9) -> list[Record]:
    """A thousand updates."""
    return [
        make_record(
            benchmark="learn",
            case=case,
            implementation=implementation,
            seed=seed,
            metrics={"wall_seconds": seconds, "initialisation_seconds": 0.0, "training_seconds": seconds},
            parameters={"steps": 1001, "repetitions": repetitions},
            counts={"gradient_steps": 1000, "environment_steps": 1001},
        )
        for seed in range(1, 6)
    ]


def rows(text: str) -> list[list[str]]:
    _, _, behind = text.partition("### Lower bound")
    section = behind.partition("\n###")[0]
    table = re.findall(r"^\| .*$", section, re.MULTILINE)[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def cells(text: str, case: str) -> list[str]:
    (row,) = [row for row in rows(text) if row[0] == case]
    return row


def test_the_least_time_is_operations_at_the_best_rate_or_bytes_at_the_copy_s_whichever_is_longer(tmp_path):
    text = page(tmp_path, updates() + rates())
    # A million operations at the better case's 20 G a second are 50 of the 100 microseconds.
    assert cells(text, "small")[2:] == [
        "1,000,000", "8,000", "50.0 µs (operations)", "100 µs", "50 %", "10.0 G",
    ]  # fmt: skip
    # A billion bytes at 4 G a second.
    assert cells(text, "large")[2:] == [
        "2,000,000", "1,000,000,000", "250 ms (bytes)", "1.00 s", "25 %", "0.00200 G",
    ]  # fmt: skip


def test_an_operation_that_moves_data_is_bound_by_its_bytes_alone(tmp_path):
    moved = MATRIX.replace("      operations: multiply\n", "").replace("operations: 1000 * rows, ", "")
    copies = [record for record in rates() if record.benchmark == "copy"]
    text = render_benchmark(example_matrix(tmp_path, moved), updates() + copies, "update", profile="quick")
    # A billion bytes at 4 G a second.
    assert cells(text, "large")[2:] == ["1,000,000,000", "250 ms", "1.00 s", "25 %", "1.00 G"]
    assert "matrix product" not in text


def test_nothing_is_said_without_both_rates(tmp_path):
    both = rates()
    for benchmark in ("multiply", "copy"):
        without = [record for record in both if record.benchmark != benchmark]
        assert "Lower bound" not in page(tmp_path, updates() + without)


def test_nothing_is_said_by_the_rates_of_another_machine_or_of_emulation(tmp_path):
    other = rates(machine={**MACHINE, "cpu_model": "Example CPU 9001"})
    assert "Lower bound" not in page(tmp_path, updates() + other)
    emulated = [
        *of("multiply", "n=64", 1e-6, {"size": 64}, counts={"operations": 2 * 64**3}, execution="unknown"),
        *of("copy", "4KiB", 1e-6, {"size": 512}, counts={"bytes": 4096}, execution="unknown"),
    ]
    assert "Lower bound" not in page(tmp_path, updates() + emulated)


def test_a_trainings_limit_is_the_least_time_of_its_updates(tmp_path):
    # Of the car's updates the matrix says nothing.
    trained = training("pole", "numpy", 5.0) + training("pole", "rust", 0.2) + training("car", "numpy", 0.2)
    matrix = example_matrix(tmp_path, TRAINING)
    text = render_benchmark(matrix, trained + rates(), "learn", profile="quick")
    # A thousand times 50 microseconds, which 5 seconds exceed a hundred times.
    assert rows(text) == [
        ["pole", "numpy", "1,000", "50.0 µs (operations)", "50.0 ms", "5.00 s", "100x"],
        ["pole", "rust", "1,000", "50.0 µs (operations)", "50.0 ms", "200 ms", "4.00x"],
    ]
    assert "Lower bound" not in render_benchmark(matrix, trained, "learn", profile="quick")


STEPPED = TRAINING.replace(
    "cases: {pole: small}}",
    "cases: {pole: small}, environment: {benchmark: step, case: single, count: environment_steps, "
    "implementations: {rust: numpy}}}",
).replace(
    "counts: {gradient_steps: steps - 1}", "counts: {gradient_steps: steps - 1, environment_steps: steps}"
)
STEPPED += (
    f"  step:\n    title: step{_OPERATION.format(name='step')}    counts: {{environment_steps: calls}}\n"
)
STEPPED += "    cases: {single: {calls: 10}, many: {calls: 10}}\n"


def test_steps_of_an_environment_that_is_no_choice_are_part_of_the_limit(tmp_path):
    matrix = example_matrix(tmp_path, STEPPED)
    trained = training("pole", "numpy", 5.0) + training("pole", "rust", 0.2)
    counts = {"counts": {"environment_steps": 10}}
    stepped = of("step", "single", 49.95e-6, {"calls": 10}, **counts)
    others = of("step", "many", 1e-6, {"calls": 10}, **counts)
    text = render_benchmark(matrix, trained + rates() + stepped + others, "learn", profile="quick")
    # 1,001 steps of 49.95 microseconds are 50 milliseconds beside the updates' 50.
    assert [row[-4:] for row in rows(text)] == [
        ["50.0 ms", "—", "5.00 s", "100x"],
        ["50.0 ms", "50.0 ms", "200 ms", "2.00x"],
    ]
    assert (
        "An implementation that must step another library's environment has those steps in its bound (rust)"
        in text
    )
    # The other case, and another machine's, say nothing of it.
    elsewhere = of("step", "single", 1.0, {"calls": 10}, machine={**MACHINE, "cpu_model": "Other"}, **counts)
    text = render_benchmark(matrix, trained + rates() + others + elsewhere, "learn", profile="quick")
    assert rows(text)[1][-3:] == ["not measured", "200 ms", "4.00x"]


def test_a_rate_that_was_measured_in_another_profile_is_the_machines_too(tmp_path):
    text = TRAINING.replace("  quick:\n", "  long: &long\n", 1)
    text = text.replace("benchmarks:\n", "  quick: *long\nbenchmarks:\n", 1)
    text = text.replace(
        "      quick: {native: {repetitions: 9}",
        "      long: {native: {repetitions: 10}, emulated: {repetitions: 1}}\n      quick: {native: {repetitions: 9}",
    )
    matrix = example_matrix(tmp_path, text)
    trained = training("pole", "rust", 0.2, repetitions=10)
    assert rows(render_benchmark(matrix, trained + rates(), "learn", profile="long"))[0][-1] == "4.00x"
