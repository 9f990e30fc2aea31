import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import sequences
from baselines.benchmarks.sequences import Parameters
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.transitions import Fields, made, write_sequences
from baselines.references import sequences as reference
from baselines.tuned import sequences as tuned

SIZES = {
    "capacity": 400,
    "observation": 3,
    "sequences": 8,
    "length": 5,
    "episode": 12,
    "each": 4,
    "calls": 128,
    "warmup": 1,
    "repetitions": 2,
}
SAMPLERS = pytest.mark.parametrize("sampler", [reference.Sampler, tuned.Sampler])


def sizes(**changed: int) -> Parameters:
    return Parameters(**{**SIZES, **changed})


def tape(**changed: int) -> Fields:
    given = {**SIZES, **changed}
    return made(given["capacity"], given["observation"], 42, given["episode"])


def served(folder: Path) -> argparse.Namespace:
    (folder / "small").mkdir()
    write_sequences(SIZES, 42, folder / "small")
    words = ["--case", "small", "--parameters", json.dumps(SIZES), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


def ended(fields: Fields, row: int) -> bool:
    return bool(fields.terminated[row] or fields.truncated[row])


@pytest.mark.parametrize("length", [1, 2, 5, 400])
def test_a_sequence_begins_wherever_no_episode_ends_before_its_last_step(length: int) -> None:
    fields = tape()
    wanted = [
        first
        for first in range(400 - length + 1)
        if not any(ended(fields, row) for row in range(first, first + length - 1))
    ]
    assert sequences.starts(fields, length).tolist() == wanted


@SAMPLERS
def test_what_is_drawn_passes_every_part_of_the_gate(tmp_path: Path, sampler: Any) -> None:
    sequences.run(served(tmp_path), sampler)
    out = tmp_path / "out" / "small"
    assert np.load(out / "observations.npy").shape == (32, 8, 5, 3)
    assert np.load(out / "members.npy").tolist() == [8] * 128
    shares = np.load(out / "shares.npy")
    assert shares.shape == (sequences.PARTS,)
    assert np.abs(shares).max() < 5


@SAMPLERS
def test_a_digest_covers_one_of_each_so_many_calls_as_the_number_says(tmp_path: Path, sampler: Any) -> None:
    found = sampler(sizes())
    found.fill(tape())
    operation = sequences.course(found, tape(), sizes())
    begun = set()
    for repetition in range(20):
        given = numbers(f"{1:016x}", 128 * repetition, 128)
        start = operation.inputs(given)
        draws = operation.run(start)
        begin = int(given[0]) // 2**16 % 4
        wanted = sequences.stacked(found.gathered(draws.calls), sizes())
        operation.write(start, draws, tmp_path)
        assert (np.load(tmp_path / "rewards.npy") == wanted.rewards[begin::4]).all()
        covered = [each.rewards.tolist() for each in found.gathered(draws.calls[begin::4])]
        assert [each.tolist() for each in operation.digested(draws)[3::5]] == covered
        begun.add(begin)
    assert begun == {0, 1, 2, 3}


@SAMPLERS
def test_every_place_where_a_sequence_begins_is_drawn(sampler: Any) -> None:
    fields, found = tape(), sampler(sizes())
    found.fill(fields)
    found.seed(1)
    (drawn,) = found.gathered([found.sample(5 * 5000, 0)])
    first = drawn.rewards.reshape(-1, 5)[:, 0].astype(int)
    assert set(first) == set(sequences.starts(fields, 5).tolist())


@SAMPLERS
def test_a_seed_repeats_the_draws(sampler: Any) -> None:
    found = sampler(sizes())
    found.fill(tape())
    draws = []
    for seed in (5, 6, 5):
        found.seed(seed)
        drawn = found.gathered([found.sample(40, 0) for _ in range(20)])
        draws.append(b"".join(each.rewards.tobytes() for each in drawn))
    assert draws[0] == draws[2] != draws[1]


def drawn_from(fields: Fields, first: int) -> sequences.Drawn:
    """One call with eight sequences, all of which begin with this row."""
    rows = np.tile(first + np.arange(5), 8)
    return sequences.Drawn(*(field[rows] for field in fields[:-1]))


@pytest.mark.parametrize("fault", ["none", "across an end", "a step left out", "another's action"])
def test_a_sequence_that_is_not_whole_is_no_member(fault: str) -> None:
    fields, of = tape(), sizes(calls=1, each=1)
    possible = sequences.starts(fields, 5)
    first = int(possible[0])
    if fault == "across an end":
        first = next(row for row in range(396) if row not in set(possible.tolist()))
    drawn = drawn_from(fields, first)
    if fault == "a step left out":
        # Its last step is the one after the right one, in all fields.
        drawn = sequences.Drawn(*(field.copy() for field in drawn))
        for field, of_tape in zip(drawn, fields[:-1], strict=True):
            field[4] = of_tape[first + 5]
    if fault == "another's action":
        drawn = drawn._replace(actions=drawn.actions.copy())
        drawn.actions[3] = fields.actions[first]
    found = sequences.first_rows(sequences.stacked([drawn], of), fields, of)
    wanted = {"none": 8, "across an end": 0}.get(fault, 7)
    assert (found >= 0).sum() == wanted


def test_draws_that_prefer_a_part_of_the_ring_are_far_from_their_share() -> None:
    fields, of = tape(), sizes()
    possible = sequences.starts(fields, 5)
    even = np.tile(possible, 10)
    assert np.abs(sequences.shares(even, fields, sizes(sequences=len(even), calls=1, each=1))).max() < 1
    half = np.tile(possible[: len(possible) // 2], 20)[: 8 * 128]
    assert np.abs(sequences.shares(half, fields, of)).max() > 8.5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"length": 401}, "'length' must not be above 'capacity'"),
        ({"sequences": 0}, "'sequences' must be at least 1"),
        ({"episode": 0}, "'episode' must be at least 1"),
        ({"each": 129}, "'each' must be at most 'calls'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sizes(**wrong)
