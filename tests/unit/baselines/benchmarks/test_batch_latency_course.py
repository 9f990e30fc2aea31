"""Single batches are timed one by one, and loaders that are new to their first batch."""

import argparse
import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import batch_latency, loader, loaders
from baselines.benchmarks.batch_latency import Clocked, figures_of_batches, figures_of_firsts
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.rows import Rows, made, write
from baselines.references import loader as reference
from baselines.tuned import loader as tuned
from tests.fuzz import corpus

BATCHES = {
    "does": "batches",
    "rows": 256,
    "row_bytes": 24,
    "batch": 8,
    "shuffled": True,
    "calls": 32,
    "warmup": 0,
    "repetitions": 3,
}
FIRST = {**BATCHES, "does": "first", "shuffled": False, "calls": 2}
NONCE = f"{1:016x}"
LOADERS = pytest.mark.parametrize("make", [reference.Loader, tuned.Loader])


def served(folder: Path, parameters: dict[str, Any]) -> argparse.Namespace:
    (folder / "small").mkdir()
    write(parameters, 42, folder / "small")
    words = ["--case", "small", "--parameters", json.dumps(parameters), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


def sizes(parameters: dict[str, Any]) -> loader.Parameters:
    return loader.Parameters(**parameters)


class Clock:
    """A clock that an invented loader moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr(batch_latency.time, "perf_counter_ns", lambda: self.now)


class Slow:
    """Gives the dataset in its order. Opening, each batch and closing take the given nanoseconds."""

    def __init__(
        self, clock: Clock, waits: Sequence[int], *, opening: int = 0, closing: int = 0, batch: int = 8
    ) -> None:
        self._clock, self._waits, self._closing, self._batch = clock, waits, closing, batch
        clock.now += opening

    def seed(self, number: int) -> None:
        del number

    def epoch(self) -> Iterator[Rows]:
        rows = loader.dataset(made(24, 42), 256).reshape(-1, self._batch, 24)
        for wait, batch in zip(self._waits, rows, strict=False):
            self._clock.now += wait
            yield batch

    def __del__(self) -> None:
        self._clock.now += self._closing


def clocked(*nanoseconds: int) -> Clocked:
    """An epoch whose batches took so long."""
    readings = array("q", np.cumsum([7, *nanoseconds]).tolist())
    return Clocked(loader.Epoch(np.ones(len(nanoseconds), np.uint64), []), readings)


@LOADERS
def test_the_files_are_those_of_an_epoch(
    tmp_path: Path, make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    loaders.run(served(tmp_path, BATCHES), make)
    out = tmp_path / "out" / "small"
    assert np.load(out / "delivered.npy").tolist() == np.arange(256).reshape(32, 8).tolist()
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert len(metrics["seconds"]) == 3
    assert 0 < metrics["batch_p50_seconds"] <= metrics["batch_max_seconds"]
    assert metrics["batch_max_seconds"] <= 32 * sum(metrics["seconds"])
    assert metrics["first_batch_seconds"] > 0


@LOADERS
def test_the_files_of_a_new_loader_hold_its_first_batch_in_each_call(
    tmp_path: Path, make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    loaders.run(served(tmp_path, FIRST), make)
    out = tmp_path / "out" / "small"
    assert np.load(out / "delivered.npy").tolist() == [list(range(8))] * 2
    total = int(np.add.reduce(loader.dataset(made(24, 42), 256)[:8].reshape(-1).view(np.uint64)))
    wanted = [(int(number) | 1) * total % 2**64 for number in numbers(NONCE, 0, 2)]
    assert np.load(out / "marks.npy").tolist() == wanted
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert 0 < metrics["first_batch_seconds"] <= max(metrics["seconds"])


@pytest.mark.parametrize("parameters", [BATCHES, FIRST], ids=["batches", "first"])
def test_the_digest_of_a_repetition_is_that_of_its_files(tmp_path: Path, parameters: dict[str, Any]) -> None:
    path, of = tmp_path / "rows", sizes(parameters)
    loader.save(path, loader.dataset(made(24, 42), 256), of)
    operation = (
        batch_latency.first_batch(lambda: reference.Loader(path, of), made(24, 42), of)
        if of.does == loader.FIRST
        else batch_latency.each_batch(reference.Loader(path, of), made(24, 42), of)
    )
    marks = []
    for repetition in (0, 1, 0):
        _, inputs, outputs = operation.timed(NONCE, repetition)
        marks.append(operation.digested(outputs)[0].tolist())
    assert marks[0] == marks[2] != marks[1]
    operation.write(inputs, outputs, tmp_path)
    assert np.load(tmp_path / "marks.npy").tolist() == marks[0]


def test_each_batch_has_the_time_since_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    waits = [1000 + batch for batch in range(32)]
    operation = batch_latency.each_batch(Slow(clock, waits), made(24, 42), sizes(BATCHES))
    _, _, outputs = operation.timed(NONCE, 0)
    assert np.diff(outputs.nanoseconds).tolist() == waits


def test_the_wait_for_a_first_batch_begins_with_opening_and_leaves_closing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    operation = batch_latency.first_batch(
        lambda: Slow(clock, [20] * 32, opening=300, closing=4000), made(24, 42), sizes(FIRST)
    )
    seconds, _, outputs = operation.timed(NONCE, 0)
    assert [*outputs.nanoseconds] == [320, 320]
    # The call closes what it opened.
    assert seconds == pytest.approx(2 * 4320e-9)
    assert figures_of_firsts([outputs]) == {"first_batch_seconds": pytest.approx(320e-9)}


def test_percentiles_are_times_that_all_but_their_share_of_batches_keep_to() -> None:
    waits = np.random.default_rng(1).permutation(10_000) + 1
    epochs = [clocked(*epoch) for epoch in waits.reshape(20, 500).tolist()]
    found = figures_of_batches(epochs)
    assert {name: round(1e9 * value) for name, value in found.items() if name.startswith("batch")} == {
        "batch_p50_seconds": 5001,
        "batch_p99_seconds": 9901,
        "batch_p999_seconds": 9991,
        "batch_max_seconds": 10_000,
    }


def test_the_first_batch_of_an_epoch_has_a_figure_of_its_own_and_counts_among_all() -> None:
    found = figures_of_batches([clocked(900, *[10] * 20), clocked(700, *[10] * 20), clocked(800, *[10] * 20)])
    assert found["first_batch_seconds"] == pytest.approx(800e-9)
    assert found["batch_max_seconds"] == pytest.approx(900e-9)


@pytest.mark.parametrize(
    ("batches", "shown"),
    [(19, []), (20, ["p50"]), (999, ["p50"]), (1000, ["p50", "p99"]), (10_000, ["p50", "p99", "p999"])],
)
def test_a_percentile_is_said_of_enough_batches_alone(batches: int, shown: list[str]) -> None:
    found = figures_of_batches([clocked(*[10] * batches)])
    assert {*found} == {
        "first_batch_seconds",
        "batch_max_seconds",
        *(f"batch_{each}_seconds" for each in shown),
    }


def test_the_matrix_times_enough_batches_for_every_percentile() -> None:
    benchmark = corpus.shipped().benchmarks["batch-latency"]
    case = benchmark.cases["shuffled"].parameters
    for profile in ("quick", "full"):
        least = benchmark.sizes[profile].of(emulated=False)["least_repetitions"]
        assert least * case["calls"] >= 10_000
