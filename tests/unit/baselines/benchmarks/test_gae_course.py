import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.contract.numbers import digest, numbers
from baselines.inputs.gae import GaeArrays, gae_arrays
from baselines.references.gae import prepare as prepare_reference

ROOT = Path(gae.__file__).parents[2]
SCHEMA = ROOT / "runner" / "schemas" / "measurement.schema.json"
SIZES = {"batch": 1, "length": 128, "calls": 2, "warmup": 1, "repetitions": 3}
BATCHED = {**SIZES, "batch": 8, "calls": 1, "seconds_limit": 1.0, "least_repetitions": 2}


def serve(
    tmp_path: Path, prepare: gae.Prepare = prepare_reference, seed: int = 1, **cases: dict[str, object]
) -> None:
    pairs = [
        part for name, each in cases.items() for part in ("--case", name, "--parameters", json.dumps(each))
    ]
    options = [*pairs, "--seed", str(seed), "--output", str(tmp_path / "out")]
    if (tmp_path / "in").exists():
        options += ["--input", str(tmp_path / "in")]
    gae.run(protocol.parser("").parse_args(options), prepare)


def test_every_case_is_measured_as_the_schema_wants_and_written_from_the_timed_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(tmp_path, one=SIZES, several=BATCHED)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = [event for event in events if event["event"] != "progress"]
    for event in events:
        Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(event)
    by_case = {event["case"]: event for event in events}
    assert {name: each["counts"]["elements"] for name, each in by_case.items()} == {
        "one": 128,
        "several": 1024,
    }
    assert len(by_case["one"]["metrics"]["seconds"]) == 3
    (gamma,) = gae.gammas(numbers(f"{1:016x}", 0, 1))
    advantages, returns = prepare_reference(gae_arrays(batch=8, length=128, seed=42))(gamma)
    assert np.array_equal(np.load(tmp_path / "out" / "several" / "advantages.npy"), [advantages])
    assert np.array_equal(np.load(tmp_path / "out" / "several" / "returns.npy"), [returns])


def test_input_files_are_what_is_computed_from(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "one"
    folder.mkdir(parents=True)
    arrays = gae_arrays(batch=1, length=128, seed=7)
    for name, array in arrays._asdict().items():
        np.save(folder / f"{name}.npy", array)
    serve(tmp_path, one=SIZES)
    found = np.load(tmp_path / "out" / "one" / "advantages.npy")
    gammas = gae.gammas(numbers(f"{1:016x}", 0, 2))
    assert len(set(gammas)) == 2
    assert np.array_equal(found, [prepare_reference(arrays)(gamma)[0] for gamma in gammas])


@pytest.mark.parametrize("seed", range(1, 7))
def test_files_hold_one_of_each_so_many_calls_as_the_number_says(tmp_path: Path, seed: int) -> None:
    serve(tmp_path, seed=seed, one={**SIZES, "calls": 10, "each": 4})
    given = numbers(f"{seed:016x}", 0, 10)
    gammas = gae.gammas(given)[int(given[0]) // 2**16 % 4 :: 4]
    compute = prepare_reference(gae_arrays(batch=1, length=128, seed=42))
    for index, file in enumerate(("advantages.npy", "returns.npy")):
        found = np.load(tmp_path / "out" / "one" / file)
        assert np.array_equal(found, [compute(gamma)[index] for gamma in gammas])


@pytest.mark.parametrize("length", [128, 8192])
def test_a_digest_is_that_of_the_files(tmp_path: Path, length: int) -> None:
    parameters = gae.Parameters(**{**SIZES, "length": length, "calls": 10, "each": 4})
    operation = gae.course(parameters, gae_arrays(batch=1, length=length, seed=42), prepare_reference)
    for repetition in range(6):
        _, asked, answered = operation.timed("feed", repetition)
        operation.write(asked, answered, tmp_path)
        files = [np.load(tmp_path / name) for name in ("advantages.npy", "returns.npy")]
        assert digest(operation.digested(answered)) == digest(files)


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
        return lambda _: (arrays.rewards.astype(np.float32), arrays.values)

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
        [sys.executable, "-m", "baselines.references.gae", *case],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert json.loads(printed)["case"] == "T=128"
