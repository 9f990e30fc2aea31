import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import buffer_push, buffer_sample
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.transitions import Fields, made, write_push, write_sample
from baselines.references import buffer as reference
from baselines.tuned import buffer as tuned

REPEATED = {"warmup": 1, "repetitions": 3}
# A repetition goes round the ring, and the tape is shorter than one.
PUSH: dict[str, Any] = {"capacity": 13, "observation": 4, "rows": 5, "calls": 9, **REPEATED}
SAMPLE: dict[str, Any] = {"capacity": 64, "observation": 3, "batch": 32, "calls": 40, **REPEATED}
NONCE = f"{1:016x}"
RINGS = pytest.mark.parametrize("ring", [reference.Ring, tuned.Ring])


def served(folder: Path, parameters: dict[str, Any]) -> argparse.Namespace:
    words = ["--case", "small", "--parameters", json.dumps(parameters), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


def sums_of(tape: Fields, rows: list[int]) -> list[int]:
    """The sums by their definition, in Python's own numbers."""
    sums = []
    for row in rows:
        fields = [np.atleast_1d(field[row]).astype("<f4").tobytes() for field in tape]
        words = [
            sum(int.from_bytes(field[at : at + 8], "little") for at in range(0, len(field), 8))
            for field in fields
        ]
        sums.append(sum(place * word for place, word in enumerate(words, start=1)) % 2**64)
    return sums


@RINGS
@pytest.mark.parametrize(("width", "read_bytes"), [(4, 2**20), (3, 2**20), (4, 64), (3, 1)])
def test_a_push_keeps_the_tape_from_where_the_number_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ring: Any, width: int, read_bytes: int
) -> None:
    monkeypatch.setattr(buffer_push, "_READ_BYTES", read_bytes)
    parameters = {**PUSH, "observation": width}
    (tmp_path / "small").mkdir()
    write_push(parameters, 42, tmp_path / "small")
    buffer_push.run(served(tmp_path, parameters), ring)
    number = int(numbers(NONCE, 0, 1)[0])
    first, tape = number % 5, made(5, width, 42)
    tape.rewards[first] = (number >> 40) * 2.0**-24
    wanted = sums_of(tape, [(first + call) % 5 for call in range(9)])
    assert np.load(tmp_path / "out" / "small" / "sums.npy").tolist() == wanted


@RINGS
def test_a_digest_covers_one_of_each_so_many_transitions_as_the_number_says(ring: Any) -> None:
    sizes = buffer_push.Parameters(**{**PUSH, "each": 4})
    course = buffer_push.Pushes(ring(13, 4), made(5, 4, 42), sizes)
    begun = set()
    for repetition in range(20):
        given = numbers(NONCE, 9 * repetition, 9)
        course.push_all(course.drawn(given))
        begin = int(given[0]) // 2**16 % 4
        assert course.digested().tolist() == course.sums()[begin::4].tolist()
        begun.add(begin)
    assert begun == {0, 1, 2, 3}


class Drawn(reference.Ring):
    """A ring that is read by draws alone, as those of rlox. It may forget a push."""

    forgets = 0

    def __init__(self, capacity: int, width: int) -> None:
        super().__init__(capacity, width)
        self._capacity, self._kept = capacity, self.push
        self.asked: list[int] = []
        self.push = self._push

    def _push(self, *transition: Any) -> None:
        if self.forgets:
            self.forgets -= 1
            return
        self._kept(*transition)

    def some(self, seed: int) -> tuple[Any, Fields]:
        self.asked.append(seed)
        places = np.arange(self._capacity)[::2]
        return places, Fields(*(field[places] for field in self.read(slice(0, self._capacity))))


def of_draws(ring: Drawn, **changed: int) -> buffer_push.DrawnPushes:
    sizes = buffer_push.Parameters(**{**PUSH, **changed})
    return buffer_push.DrawnPushes(ring, made(5, 4, 42), sizes)


@pytest.mark.parametrize("each", [1, 4])
def test_the_digest_of_a_ring_of_draws_covers_what_its_files_hold(each: int) -> None:
    course = of_draws(Drawn(13, 4), each=each)
    for repetition in range(20):
        given = numbers(NONCE, 9 * repetition, 9)
        course.push_all(course.drawn(given))
        begin = int(given[0]) // 2**16 % each
        assert course.digested().tolist() == course.sums()[begin::each].tolist()


def test_a_ring_of_draws_is_asked_for_other_rows_each_time() -> None:
    ring = Drawn(13, 4)
    course = of_draws(ring)
    for repetition in range(20):
        course.push_all(course.drawn(numbers(NONCE, 9 * repetition, 9)))
        course.digested()
    assert len(set(ring.asked)) == 21


def test_a_ring_of_draws_that_forgot_a_push_gives_no_digest() -> None:
    ring = Drawn(13, 4)
    course = of_draws(ring)
    ring.forgets = 1
    course.push_all(course.drawn(numbers(NONCE, 0, 9)))
    with pytest.raises(ValueError, match="does not hold what was pushed last"):
        course.digested()


@RINGS
def test_what_is_drawn_is_of_the_tape_and_drawn_everywhere(tmp_path: Path, ring: Any) -> None:
    (tmp_path / "small").mkdir()
    write_sample(SAMPLE, 42, tmp_path / "small")
    buffer_sample.run(served(tmp_path, SAMPLE), ring)
    out = tmp_path / "out" / "small"
    assert np.load(out / "members.npy").tolist() == [32] * 40
    shares = np.load(out / "shares.npy")
    assert shares.sum() == pytest.approx(1)
    assert np.abs(shares - 1 / 16).max() < 0.04
    assert np.load(out / "observations.npy").shape == (40, 32, 3)


@RINGS
def test_files_of_draws_hold_one_of_each_so_many_calls_as_the_number_says(tmp_path: Path, ring: Any) -> None:
    for name, parameters in (("all", SAMPLE), ("some", {**SAMPLE, "each": 4})):
        (tmp_path / name / "small").mkdir(parents=True)
        write_sample(parameters, 42, tmp_path / name / "small")
        buffer_sample.run(served(tmp_path / name, parameters), ring)
    all_files, some = (tmp_path / name / "out" / "small" for name in ("all", "some"))
    begin = int(numbers(f"{1:016x}", 0, 1)[0]) // 2**16 % 4
    for field in buffer_sample.Drawn._fields:
        whole = np.load(all_files / f"{field}.npy")
        assert np.array_equal(np.load(some / f"{field}.npy"), whole[begin::4])
    for file in ("members.npy", "shares.npy"):
        assert (some / file).read_bytes() == (all_files / file).read_bytes()


@pytest.mark.parametrize("field", buffer_sample.Drawn._fields)
def test_a_transition_that_is_wrong_in_one_field_is_no_member(field: str) -> None:
    tape = made(8, 3, 1)
    rows = np.array([[1, 5]])
    drawn = buffer_sample.Drawn(*(values[rows].copy() for values in tape[:5]))
    assert buffer_sample.membership(drawn, tape).tolist() == [[1, 5]]
    getattr(drawn, field)[0, 1] += 0.5
    assert buffer_sample.membership(drawn, tape).tolist() == [[1, -1]]


def test_a_draw_from_half_of_the_ring_shows_in_the_shares() -> None:
    sizes = buffer_sample.Parameters(**SAMPLE)
    half = np.arange(sizes.calls * sizes.batch) % 32
    assert np.abs(buffer_sample.shares(half, sizes) - 1 / 16).max() > 0.0125


@pytest.mark.parametrize("name", ["capacity", "observation", "rows", "each"])
def test_a_ring_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' must be at least 1"):
        buffer_push.Parameters(**{**PUSH, name: 0})


def test_a_digest_of_no_transition_is_refused() -> None:
    with pytest.raises(ValueError, match="'each' must be at most 'calls'"):
        buffer_push.Parameters(**{**PUSH, "each": 10})


def test_more_pushes_than_the_ring_keeps_are_refused() -> None:
    with pytest.raises(ValueError, match="'calls' must be at most 'capacity'"):
        buffer_push.Parameters(**{**PUSH, "calls": 14})
