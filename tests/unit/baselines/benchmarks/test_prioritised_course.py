import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import Drawn, Parameters, Plain
from baselines.contract import protocol
from baselines.inputs.transitions import Fields, made, write_sample
from baselines.references import prioritised as reference
from baselines.tuned import prioritised as tuned

BY_PRIORITY = {
    "capacity": 200,
    "observation": 3,
    "batch": 16,
    "prioritised": True,
    "steps": 1,
    "calls": 128,
    "warmup": 1,
    "repetitions": 2,
}
OVER_STEPS = {**BY_PRIORITY, "prioritised": False, "steps": 3}
SAMPLERS = pytest.mark.parametrize("sampler", [reference.Sampler, tuned.Sampler])
CASES = pytest.mark.parametrize("parameters", [BY_PRIORITY, OVER_STEPS], ids=["by priority", "over steps"])


def sizes(parameters: dict[str, Any]) -> Parameters:
    return Parameters(**parameters)


def served(folder: Path, parameters: dict[str, Any]) -> argparse.Namespace:
    (folder / "small").mkdir()
    write_sample(parameters, 42, folder / "small")
    words = ["--case", "small", "--parameters", json.dumps(parameters), "--seed", "1"]
    words += ["--input", str(folder), "--output", str(folder / "out")]
    return protocol.parser("").parse_args(words)


def batch_of(tape: Fields, rows: Sequence[int], parameters: dict[str, Any]) -> Drawn:
    """One minibatch by the definition, worked out in Python's own numbers."""
    count, steps = parameters["capacity"], parameters["steps"]
    priorities = [(abs(float(action)) + 1e-6) ** 0.6 for action in tape.actions[:, 0]]
    fields: list[list[Any]] = [[] for _ in Drawn._fields]
    for row in rows:
        last, reward, discount = row, float(tape.rewards[row]), 0.99
        while (
            last - row < steps - 1
            and last < count - 1
            and not tape.terminated[last]
            and not tape.truncated[last]
        ):
            last += 1
            reward += discount * float(tape.rewards[last])
            discount *= 0.99
        weight = (min(priorities) / priorities[row]) ** 0.4
        values = (
            tape.observations[row],
            tape.next_observations[last],
            tape.actions[row],
            reward,
            tape.terminated[last],
            weight if parameters["prioritised"] else discount,
        )
        for field, value in zip(fields, values, strict=True):
            field.append(value)
    return Drawn(*(np.array([field], np.float32) for field in fields))


@SAMPLERS
@CASES
def test_what_is_drawn_passes_every_part_of_the_gate(
    tmp_path: Path, sampler: Any, parameters: dict[str, Any]
) -> None:
    prioritised.run(served(tmp_path, parameters), sampler)
    out = tmp_path / "out" / "small"
    assert np.load(out / "members.npy").tolist() == [16] * 128
    assert np.load(out / "differences.npy").max() < 1e-6
    assert np.load(out / "differences.npy").shape == (128, 2)
    shares = np.load(out / "shares.npy")
    assert shares.shape == (2 * prioritised.PARTS,)
    assert np.abs(shares).max() < 5


@SAMPLERS
@CASES
def test_a_sampler_draws_what_the_definition_says_row_by_row(
    sampler: Any, parameters: dict[str, Any]
) -> None:
    tape, found = made(200, 3, 42), sampler(sizes(parameters))
    found.fill(tape)
    found.seed(1)
    (drawn,) = (
        found.gathered([found.call(400, 0)])
        if not parameters["prioritised"]
        else found.gathered([found.call(16, 0)])
    )
    rows = [int(np.flatnonzero((tape.observations == each).all(axis=1))[0]) for each in drawn.observations]
    wanted = batch_of(tape, rows, parameters)
    for name, values in drawn._asdict().items():
        expected = getattr(wanted, name)[0].reshape(values.shape)
        assert values == pytest.approx(expected, rel=1e-6), name


@SAMPLERS
@CASES
def test_a_seed_repeats_the_draws_though_priorities_are_written(
    sampler: Any, parameters: dict[str, Any]
) -> None:
    found = sampler(sizes(parameters))
    found.fill(made(200, 3, 42))
    draws = []
    for seed in (5, 6, 5):
        found.seed(seed)
        drawn = found.gathered([found.call(16, 0) for _ in range(20)])
        draws.append(b"".join(each.rewards.tobytes() for each in drawn))
    assert draws[0] == draws[2] != draws[1]


@CASES
@pytest.mark.parametrize("field", ["observations", "next_observations", "actions", "terminated"])
def test_a_transition_that_is_wrong_in_one_field_is_no_member(field: str, parameters: dict[str, Any]) -> None:
    tape = made(200, 3, 42)
    plain, drawn = Plain(tape, sizes(parameters)), batch_of(tape, [1, 5, 199], parameters)
    assert plain.rows(drawn).tolist() == [[1, 5, 199]]
    getattr(drawn, field)[0, 1] += 0.5
    assert plain.rows(drawn).tolist() == [[1, -1, 199]]


@CASES
@pytest.mark.parametrize(("field", "place"), [("rewards", 0), ("factors", 1)])
@pytest.mark.parametrize("wrong", [1.001, np.nan])
def test_a_return_or_factor_that_is_wrong_is_beyond_the_tolerance(
    field: str, place: int, wrong: float, parameters: dict[str, Any]
) -> None:
    tape, rows = made(200, 3, 42), [3, 7, 11, 198]
    plain, drawn = Plain(tape, sizes(parameters)), batch_of(tape, rows, parameters)
    assert plain.differences(drawn, np.array([rows])).max() < 1e-6
    getattr(drawn, field)[0, 2] *= wrong
    found = plain.differences(drawn, np.array([rows]))
    assert not found[0, place] < 1e-5
    assert found[0, 1 - place] < 1e-5


def test_uniform_draws_show_in_the_shares_where_they_should_follow_priorities() -> None:
    tape = made(200, 3, 42)
    rows = np.random.default_rng(1).integers(200, size=16 * 128)
    assert np.abs(Plain(tape, sizes(BY_PRIORITY)).shares(rows)).max() > 8.5
    assert np.abs(Plain(tape, sizes(OVER_STEPS)).shares(rows)).max() < 5
    half = rows // 2
    assert np.abs(Plain(tape, sizes(OVER_STEPS)).shares(half)).max() > 8.5


@pytest.mark.parametrize("module", [reference, tuned])
def test_a_tree_finds_each_row_by_its_share_and_never_one_without_priority(module: Any) -> None:
    for capacity in (1, 5, 64, 65, 5000):
        tree = module.Tree(capacity)
        priorities = np.random.default_rng(capacity).random(capacity)
        priorities[1:-1:3] = 0
        priorities[0] = 0.25
        # In the other rows nothing was stored.
        held = np.flatnonzero(priorities)
        tree.change(held, priorities[held])
        # A row that was drawn twice.
        tree.change(np.array([0, 0]), np.array([0.25, 0.25]))
        shares = np.append(np.random.default_rng(1).random(500), [0, 1 - 2**-53])
        rows, over_least = tree.find(shares)
        wanted = np.searchsorted(priorities.cumsum(), shares * priorities.sum(), side="right")
        assert (rows == wanted.clip(max=capacity - 1)).mean() > 0.99
        assert (priorities[rows] > 0).all()
        assert over_least == pytest.approx(priorities[rows] / priorities[held].min())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"steps": 0}, "'steps' must be at least 1"),
        ({"steps": 3}, "'steps' must be 1 where"),
        ({"prioritised": False}, "'steps' must be 1 where"),
        ({"observation": 1}, "'observation' must be at least 2"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sizes({**BY_PRIORITY, **wrong})
