import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from baselines import gae, gae_numpy, protocol
from baselines.inputs import GaeArrays, gae_arrays

ROOT = Path(gae.__file__).parents[1]
SCHEMA = ROOT / "runner" / "schemas" / "measurement.schema.json"
SIZES = {"batch": 1, "length": 128, "calls": 2, "warmup": 1, "repetitions": 3}
BATCHED = {**SIZES, "batch": 8, "seconds_limit": 1.0, "least_repetitions": 2}


def oracle(rewards: list[float], values: list[float], dones: list[float]) -> list[float]:
    """Equation 16 as a sum: each step's later errors, discounted, up to the end of its episode."""
    advantages = []
    for start in range(len(rewards)):
        total, weight = 0.0, 1.0
        for t in range(start, len(rewards)):
            following = values[t + 1] if t + 1 < len(values) else 0.0
            total += weight * (rewards[t] + 0.99 * following * (1 - dones[t]) - values[t])
            weight *= 0.99 * 0.95
            if dones[t]:
                break
        advantages.append(total)
    return advantages


def computed(
    rewards: list[float], values: list[float], dones: list[float]
) -> tuple[list[float], list[float]]:
    arrays = GaeArrays(*(np.array(each, dtype=np.float64) for each in (rewards, values, dones)))
    advantages, returns = gae_numpy.prepare(arrays)()
    return advantages.tolist(), returns.tolist()


def test_three_steps_by_hand() -> None:
    advantages, returns = computed([1.0, 2.0, 3.0], [0.5, 0.25, 0.125], [0.0, 1.0, 0.0])
    last = 3.0 - 0.125
    middle = 2.0 - 0.25
    first = 1.0 + 0.99 * 0.25 - 0.5 + 0.99 * 0.95 * middle
    assert advantages == pytest.approx([first, middle, last], rel=1e-15)
    assert returns == pytest.approx([first + 0.5, middle + 0.25, last + 0.125], rel=1e-15)


steps = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0])),
    min_size=1,
    max_size=40,
)


@given(steps)
def test_the_loop_is_the_sum_of_the_paper(trajectory: list[tuple[float, float, float]]) -> None:
    rewards, values, dones = (list(each) for each in zip(*trajectory, strict=True))
    advantages, returns = computed(rewards, values, dones)
    assert advantages == pytest.approx(oracle(rewards, values, dones), rel=1e-9, abs=1e-9)
    assert returns == pytest.approx(
        [a + v for a, v in zip(advantages, values, strict=True)], rel=1e-12, abs=1e-12
    )


@given(steps, st.floats(-1e3, 1e3))
def test_nothing_after_the_end_of_an_episode_reaches_back(
    trajectory: list[tuple[float, float, float]], other: float
) -> None:
    rewards, values, dones = (list(each) for each in zip(*trajectory, strict=True))
    dones[-1] = 1.0
    alone, _ = computed(rewards, values, dones)
    continued, _ = computed([*rewards, other], [*values, other], [*dones, 0.0])
    assert continued[:-1] == alone


def test_several_trajectories_are_each_what_they_are_alone() -> None:
    arrays = gae_arrays(batch=8, length=128, seed=3)
    advantages, returns = gae_numpy.prepare(arrays)()
    for row in range(8):
        alone = gae_numpy.prepare(GaeArrays(*(each[row].copy() for each in arrays)))()
        assert np.array_equal(advantages[row], alone[0])
        assert np.array_equal(returns[row], alone[1])
    assert advantages.flags.c_contiguous


@given(steps, st.integers(1, 3))
def test_the_tuned_variant_has_the_loops_bits(
    trajectory: list[tuple[float, float, float]], batch: int
) -> None:
    fields = [np.array(each, dtype=np.float64) for each in zip(*trajectory, strict=True)]
    # Rows that differ: each is turned by its own number.
    rows = [np.stack([np.roll(each, row) for row in range(batch)]) for each in fields]
    for arrays in (GaeArrays(*fields), GaeArrays(*rows)):
        copies = [each.copy() for each in arrays]
        found, wanted = gae_numpy.prepare_tuned(arrays)(), gae_numpy.prepare(arrays)()
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()
        assert all(map(np.array_equal, arrays, copies)), "a repetition changed its inputs"


def serve(tmp_path: Path, prepare: gae.Prepare = gae_numpy.prepare, **cases: dict[str, object]) -> None:
    pairs = [
        part for name, each in cases.items() for part in ("--case", name, "--parameters", json.dumps(each))
    ]
    options = [*pairs, "--seed", "1", "--output", str(tmp_path / "out")]
    if (tmp_path / "in").exists():
        options += ["--input", str(tmp_path / "in")]
    gae.run(protocol.parser("").parse_args(options), prepare)


def test_every_case_is_measured_as_the_schema_wants_and_written_from_the_timed_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(tmp_path, one=SIZES, several=BATCHED)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for event in events:
        Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(event)
    by_case = {event["case"]: event for event in events}
    assert {name: each["counts"]["elements"] for name, each in by_case.items()} == {
        "one": 128,
        "several": 1024,
    }
    assert len(by_case["one"]["metrics"]["seconds"]) == 3
    advantages, returns = gae_numpy.prepare(gae_arrays(batch=8, length=128, seed=42))()
    assert np.array_equal(np.load(tmp_path / "out" / "several" / "advantages.npy"), advantages)
    assert np.array_equal(np.load(tmp_path / "out" / "several" / "returns.npy"), returns)


def test_input_files_are_what_is_computed_from(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "one"
    folder.mkdir(parents=True)
    arrays = gae_arrays(batch=1, length=128, seed=7)
    for name, array in arrays._asdict().items():
        np.save(folder / f"{name}.npy", array)
    serve(tmp_path, one=SIZES)
    assert np.array_equal(
        np.load(tmp_path / "out" / "one" / "advantages.npy"), gae_numpy.prepare(arrays)()[0]
    )


def test_input_files_of_another_shape_or_none_at_all_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in" / "one"
    folder.mkdir(parents=True)
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path, one=SIZES)
    assert "cannot read" in capsys.readouterr().err
    for name in GaeArrays._fields:
        np.save(folder / f"{name}.npy", np.zeros(7))
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path, one=SIZES)
    assert "not float64 (128,)" in capsys.readouterr().err


def test_single_precision_in_the_output_is_a_defect(tmp_path: Path) -> None:
    def prepare(arrays: GaeArrays) -> gae.Call:
        return lambda: (arrays.rewards.astype(np.float32), arrays.values)

    with pytest.raises(TypeError, match="float32"):
        serve(tmp_path, prepare, one=SIZES)


@pytest.mark.parametrize("name", ["batch", "length", "calls", "repetitions"])
def test_sizes_below_one_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path, one={**SIZES, name: 0})
    assert f"'{name}' must be at least 1" in capsys.readouterr().err


def test_without_a_case_it_says_that_one_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path)
    assert "no --case was given" in capsys.readouterr().err


def test_it_runs_as_a_module_from_the_repository_root() -> None:
    case = ["--case", "T=128", "--parameters", json.dumps(SIZES), "--seed", "1"]
    printed = subprocess.run(
        [sys.executable, "-m", "baselines.gae_numpy", *case],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert json.loads(printed)["case"] == "T=128"
