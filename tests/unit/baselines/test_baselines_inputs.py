import json
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from baselines import inputs

# The files are the definition of the data: another hash here is another benchmark.
GAE = {
    "T=2048": {
        "rewards.npy": "d6fbc057960e13136dd738333b9ddee27cf517885abdcf158f0c6f7d50e5a030",
        "values.npy": "42ade9aaac8afe7ebd39750df5e32095d0407984f5992c6fd03749123ce7ca43",
        "dones.npy": "2742bf10029edd22a2fef044b7867e115884e873e40ef3559ce73acbad9806ac",
    },
    "8x128": {
        "rewards.npy": "2365f717b33d0874249e6a9680851244d9bde3b275b59287564b7d6213ae630c",
        "values.npy": "e23c2516c14fa345db838bde67ee83e8c6e3c79b5e31db169d98bf7b3ba7002f",
        "dones.npy": "0f500f0c55aabfbea2efa6aedaa050dcc2e13b027378728264983b7c65067fa0",
    },
}
DQN = {"parity.safetensors": "37e335524148bdbcb0455daa57bb5ebac58a7622ec6a85dbecee580267f6d547"}


def generate(monkeypatch: pytest.MonkeyPatch, output: Path, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["inputs", *arguments, "--seed", "42", "--output", str(output)])
    inputs.main()


def hashes(directory: Path) -> dict[str, str]:
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in directory.iterdir()}


def test_gae_inputs_are_the_same_bytes_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = {"T=2048": {"batch": 1, "length": 2048, "calls": 2}, "8x128": {"batch": 8, "length": 128}}
    pairs = [
        part for name, each in cases.items() for part in ("--case", name, "--parameters", json.dumps(each))
    ]
    generate(monkeypatch, tmp_path, "gae", *pairs)
    assert {name: hashes(tmp_path / name) for name in cases} == GAE
    assert capsys.readouterr().out == ""


def test_dqn_inputs_are_the_same_bytes_as_ever_and_anybody_may_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(monkeypatch, tmp_path, "dqn", "--case", "CartPole-v1", "--parameters", "{}")
    assert hashes(tmp_path / "CartPole-v1") == DQN
    file = tmp_path / "CartPole-v1" / "parity.safetensors"
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert file.stat().st_mode == ordinary.stat().st_mode


def test_one_trajectory_has_one_axis_and_several_have_two() -> None:
    assert {each.shape for each in inputs.gae_arrays(batch=1, length=5, seed=42)} == {(5,)}
    assert {each.shape for each in inputs.gae_arrays(batch=3, length=5, seed=42)} == {(3, 5)}
    dones = inputs.gae_arrays(batch=8, length=2048, seed=42).dones
    assert set(np.unique(dones)) == {0.0, 1.0}
    assert dones.mean() == pytest.approx(0.05, abs=0.01)


def test_the_minibatch_of_dqn_has_the_shapes_and_types_of_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(monkeypatch, tmp_path, "dqn", "--case", "x", "--parameters", "{}")
    arrays = load_file(tmp_path / "x" / "parity.safetensors")
    layers = {"0.weight": (120, 4), "0.bias": (120,), "2.weight": (84, 120), "2.bias": (84,)}
    layers |= {"4.weight": (2, 84), "4.bias": (2,)}
    shapes = {
        f"{network}.{name}": shape for network in ("online", "target") for name, shape in layers.items()
    }
    shapes |= {"observations": (128, 4), "next_observations": (128, 4)}
    shapes |= dict.fromkeys(("actions", "rewards", "terminations"), (128,))
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert {name for name, array in arrays.items() if array.dtype != np.float32} == {"actions"}
    assert arrays["actions"].dtype == np.int64
    assert set(np.unique(arrays["actions"])) == {0, 1}
    assert 0.04 < arrays["terminations"].mean() < 0.2
    assert not np.array_equal(arrays["online.0.weight"], arrays["target.0.weight"])
    assert np.abs(arrays["online.0.weight"]).max() <= 0.5


@pytest.mark.parametrize("parameters", ['{"batch":1}', '{"batch":0,"length":8}', '{"batch":true,"length":8}'])
def test_sizes_that_are_none_are_refused(
    parameters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        generate(monkeypatch, tmp_path, "gae", "--case", "x", "--parameters", parameters)
    assert "whole number from 1" in capsys.readouterr().err
