import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import loader, loaders
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.rows import TAPE_ROWS, Rows, made, write
from baselines.references import loader as reference
from baselines.tuned import loader as tuned

STORED = {
    "rows": 256,
    "row_bytes": 24,
    "batch": 8,
    "shuffled": False,
    "calls": 32,
    "warmup": 1,
    "repetitions": 2,
}
SHUFFLED = {**STORED, "shuffled": True}
NONCE = f"{1:016x}"
LOADERS = pytest.mark.parametrize("make", [reference.Loader, tuned.Loader])
CASES = pytest.mark.parametrize("parameters", [STORED, SHUFFLED], ids=["stored", "shuffled"])


def sizes(parameters: dict[str, Any]) -> loader.Parameters:
    return loader.Parameters(**parameters)


def served(folder: Path, parameters: dict[str, Any]) -> argparse.Namespace:
    (folder / "small").mkdir()
    write(parameters, 42, folder / "small")
    words = ["--case", "small", "--parameters", json.dumps(parameters), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


class Prepared:
    """Gives these batches, whatever the seed."""

    def __init__(self, batches: Rows) -> None:
        self._batches = batches

    def seed(self, number: int) -> None:
        del number

    def epoch(self) -> Iterator[Rows]:
        return iter(self._batches)


def written(folder: Path, batches: Rows, parameters: dict[str, Any]) -> dict[str, Any]:
    """What the course writes of such an epoch."""
    operation = loader.course(Prepared(batches), made(24, 42), sizes(parameters))
    _, inputs, outputs = operation.timed(NONCE, 0)
    operation.write(inputs, outputs, folder)
    return {file.stem: np.load(file) for file in folder.glob("*.npy")}


def epoch_of(order: np.ndarray) -> Rows:
    return loader.dataset(made(24, 42), 256)[order].reshape(32, 8, 24)


def test_each_row_begins_with_its_number_and_goes_on_as_the_tape() -> None:
    tape = made(24, 42)
    rows = loader.dataset(tape, 2 * TAPE_ROWS)
    assert [int.from_bytes(row[:8].tobytes(), "little") for row in rows] == list(range(2 * TAPE_ROWS))
    assert (rows[:TAPE_ROWS, 8:] == tape[:, 8:]).all()
    assert (rows[TAPE_ROWS:, 8:] == tape[:, 8:]).all()


@LOADERS
@CASES
def test_every_row_comes_once_and_the_marks_are_their_definition(
    tmp_path: Path, make: Any, parameters: dict[str, Any]
) -> None:
    loaders.run(served(tmp_path, parameters), make)
    out = tmp_path / "out" / "small"
    assert np.load(out / "delivered.npy").tolist() == np.arange(256).reshape(32, 8).tolist()
    if not parameters["shuffled"]:
        wanted = [
            (int(number) | 1)
            * sum(int.from_bytes(row[at : at + 8].tobytes(), "little") for row in batch for at in (0, 8, 16))
            % 2**64
            for number, batch in zip(numbers(NONCE, 0, 32), epoch_of(np.arange(256)), strict=True)
        ]
        assert np.load(out / "marks.npy").tolist() == wanted


@LOADERS
def test_a_seed_decides_the_order(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "rows"
    loader.save(path, loader.dataset(made(24, 42), 256), sizes(SHUFFLED))
    found = make(path, sizes(SHUFFLED))
    orders = []
    for seed in (5, 6, 5):
        found.seed(seed)
        orders.append(np.concatenate(list(found.epoch())).tobytes())
    assert orders[0] == orders[2] != orders[1]


@CASES
def test_the_digest_of_a_repetition_is_that_of_its_files(tmp_path: Path, parameters: dict[str, Any]) -> None:
    path = tmp_path / "rows"
    loader.save(path, loader.dataset(made(24, 42), 256), sizes(parameters))
    operation = loader.course(reference.Loader(path, sizes(parameters)), made(24, 42), sizes(parameters))
    marks = []
    for repetition in (0, 1, 0):
        _, inputs, outputs = operation.timed(NONCE, repetition)
        marks.append(operation.digested(outputs)[0].tolist())
    assert marks[0] == marks[2] != marks[1]
    operation.write(inputs, outputs, tmp_path)
    assert np.load(tmp_path / "marks.npy").tolist() == marks[0]


def test_two_rows_that_changed_places_show_where_rows_come_as_stored(tmp_path: Path) -> None:
    order = np.arange(256)
    order[[3, 4]] = order[[4, 3]]
    assert written(tmp_path, epoch_of(order), STORED)["delivered"][0].tolist() == [0, 1, 2, 4, 3, 5, 6, 7]


def test_a_row_that_comes_twice_shows_where_rows_are_shuffled(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(256)
    order[7] = order[8]
    found = written(tmp_path, epoch_of(order), SHUFFLED)["delivered"]
    assert found.reshape(-1).tolist() == sorted(order.tolist()) != list(range(256))


@pytest.mark.parametrize("byte", [0, 7, 8, 23])
def test_a_row_with_one_wrong_byte_is_none(tmp_path: Path, byte: int) -> None:
    batches = epoch_of(np.arange(256))
    batches[2, 5, byte] ^= 0xFF
    found = written(tmp_path, batches, STORED)["delivered"]
    assert np.argwhere(found == -1).tolist() == [[2, 5]]


@pytest.mark.parametrize(
    "order",
    [
        np.arange(1024),
        np.random.default_rng(1).permutation(1024 // 8)[:, None] * 8 + np.arange(8),
        np.concatenate([np.random.default_rng(part).permutation(512) + 512 * part for part in range(2)]),
    ],
    ids=["not shuffled", "blocks", "halves"],
)
def test_an_order_that_is_not_shuffled_whole_is_beyond_the_tolerance(order: np.ndarray) -> None:
    wanted = loader.order(np.random.default_rng(2).permutation(1024))
    assert np.abs(loader.order(order) - wanted).max() > 8.5


def test_shuffled_orders_are_within_the_tolerance() -> None:
    for count in (1024, 32768):
        found = np.array([loader.order(np.random.default_rng(seed).permutation(count)) for seed in range(50)])
        assert np.ptp(found, axis=0).max() < 8.5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"calls": 31}, "'calls' times 'batch' must be 'rows'"),
        ({"row_bytes": 20}, "'row_bytes' must be a multiple of 8"),
        ({"rows": 0, "calls": 1}, "'rows' must be at least 1"),
        ({"does": "nothing"}, "'does' must be epoch, batches or first"),
        ({"does": "first", "shuffled": True}, "come as it is stored"),
        ({"does": "first", "batch": 257}, "a first batch must be there"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sizes({**STORED, **wrong})
