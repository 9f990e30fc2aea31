"""Single draws are timed one by one."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import buffer_sample, draw_latency
from baselines.benchmarks.covered import Answered, Asked
from baselines.contract import protocol
from baselines.contract.operation import Operation
from baselines.inputs.transitions import write_sample
from baselines.references import buffer as reference
from baselines.tuned import buffer as tuned
from tests.fuzz import corpus

SAMPLE = {"capacity": 64, "observation": 3, "batch": 32, "calls": 40, "warmup": 1, "repetitions": 3}
CLOCKED = {**SAMPLE, "clocked": True}
NONCE = f"{1:016x}"
RINGS = pytest.mark.parametrize("ring", [reference.Ring, tuned.Ring])


def served(folder: Path, parameters: dict[str, Any]) -> argparse.Namespace:
    (folder / "small").mkdir(parents=True)
    write_sample(parameters, 42, folder / "small")
    words = ["--case", "small", "--parameters", json.dumps(parameters), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


@RINGS
def test_the_files_are_those_of_draws_that_are_timed_together(tmp_path: Path, ring: Any) -> None:
    for name, parameters in (("plain", SAMPLE), ("clocked", CLOCKED)):
        buffer_sample.run(served(tmp_path / name, parameters), ring)
    files = sorted(path.name for path in (tmp_path / "plain" / "out" / "small").iterdir())
    assert len(files) == 7
    for file in files:
        plain, clocked = (
            (tmp_path / name / "out" / "small" / file).read_bytes() for name in ("plain", "clocked")
        )
        assert plain == clocked


def test_a_launch_says_what_its_draws_took_and_no_first_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer_sample.run(served(tmp_path, CLOCKED), reference.Ring)
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert {*metrics} == {"seconds", "batch_p50_seconds", "batch_max_seconds"}
    assert 0 < metrics["batch_p50_seconds"] <= metrics["batch_max_seconds"]
    assert metrics["batch_max_seconds"] <= 40 * sum(metrics["seconds"])


def test_each_draw_has_the_time_since_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 7
    monkeypatch.setattr(draw_latency.time, "perf_counter_ns", lambda: now)

    def draw(nanoseconds: int) -> str:
        nonlocal now
        now += nanoseconds
        return f"drawn in {nanoseconds}"

    draws: Operation[Any, Any] = Operation(
        calls=3,
        inputs=lambda _: Asked([20, 500, 30], slice(1, None, 1)),
        run=lambda _: Answered([], slice(None)),
        digested=lambda draws: draws.calls[draws.covered],
        write=lambda *_: None,
        counts={"transitions": 1},
    )
    operation = draw_latency.each_draw(draws, draw)
    outputs = operation.run(operation.inputs(np.zeros(3, np.uint64)))
    assert operation.digested(outputs) == ["drawn in 500", "drawn in 30"]
    kept: list[Any] = []
    operation.keep(outputs, kept)
    assert np.diff(kept).tolist() == [[20, 500, 30]]
    assert operation.said(kept) == {"batch_max_seconds": pytest.approx(500e-9)}


def test_the_matrix_times_enough_draws_for_every_percentile() -> None:
    benchmark = corpus.shipped().benchmarks["draw-latency"]
    for profile in ("quick", "full"):
        repetitions = benchmark.sizes[profile].of(emulated=False)["repetitions"]
        for case in benchmark.cases.values():
            assert repetitions * case.parameters["calls"] >= 10_000
            # The first draw of a repetition follows a digest. It must not decide the 99th percentile.
            assert case.parameters["calls"] > 100
