import json
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from baselines.inputs.__main__ import main
from baselines.inputs.gae import gae_arrays

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
_TRANSITIONS = {
    "actions.npy": "413a2108a47b0801606dd623176ccf4f6d34cad6a3445fc15bcebc103036e3e1",
    "next_observations.npy": "62d7ab51492271b79df33fcb044d2d795e36a5d1cc6d1b9d739047682f6f418c",
    "observations.npy": "04d1ba08d77b2c970f01d67e30f9e79c5c07b35aa650d6cd922c0589a80fdcfd",
    "rewards.npy": "17e61a3b1dad89c1797cd04769242eeec0cb9c0b9ec22bec5622a899d4dd0676",
    "terminated.npy": "1d8162890545e6448c2cb5c317e574cf6d3403f98a74ce782cc689ef2007b64b",
    "truncated.npy": "fc97c6cb2ff8005e1fedc33e48120de5edcdb5835eebdf9d9cb5be2fb22729ec",
}
TAPES = {
    "calls": {
        "order.npy": "f26fc11cf2ff769cc7157023bee3b32ff4ff34798aa3eaf2c2c598c293161b6c",
        "values.npy": "8bffc87737f25b01826e9c9d26bcd88fc1219ace699f2c83ec9a31ae7737609a",
    },
    "grpo": {"rewards.npy": "128317065ec5b5095bd5216f7089caa096d3413a3b2023c2e473ae5497244f38"},
    "buffer-push": _TRANSITIONS,
    "buffer-sample": _TRANSITIONS,
    "replay": _TRANSITIONS,
    "loader": {"tape.npy": "edb19c789ef46b9f8d5b5f7af13bc5b13a8c80d8fbec73be09eff0b3e7a76e24"},
    "format": {"tape.npy": "edb19c789ef46b9f8d5b5f7af13bc5b13a8c80d8fbec73be09eff0b3e7a76e24"},
    "token-kl": {
        "policy.npy": "23dd7a858d7aef56dc339cce581428a75d68766014b3a06afc3489d5f066f727",
        "reference.npy": "3985a38fc2df342dc2932ded2fc7c2e6fd540a8c24834ecfb22752bb7a90592a",
    },
}
PARITY = {
    ("dqn", "CartPole-v1"): "72ef92ef6fa709f9001cd71b8f02ae7f33b7fe777a736621033815c449ae8585",
    ("dqn", "Acrobot-v1"): "76504dc4ff940ec4b49c7d44c6766240bce9e6d569efdb7bf88b53ee2e2d5569",
    ("dqn", "MountainCar-v0"): "83b7d7934de2efd067f679881f859b8978baa5a2b2c2a32c8cefb6260c855e03",
    ("ppo", "CartPole-v1"): "e7c10788398195e8ec31c3597f4061d5501ee385dfc10d472d2bfe153fe2ad9e",
    ("sac", "Pendulum-v1"): "7ca45f368c9bfb55a8db3d5aecdc27a32865fa9f73d1b3284340175f18f72872",
}


def generate(monkeypatch: pytest.MonkeyPatch, output: Path, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["inputs", *arguments, "--seed", "42", "--output", str(output)])
    main()


def arrays_of(
    monkeypatch: pytest.MonkeyPatch, output: Path, benchmark: str, environment: str
) -> dict[str, np.ndarray]:
    """Both of the case's name and of its environment."""
    parameters = json.dumps({"environment": environment})
    generate(monkeypatch, output, benchmark, "--case", environment, "--parameters", parameters)
    return load_file(output / environment / "parity.safetensors")


def types_other_than_f32(arrays: dict[str, np.ndarray]) -> dict[str, type]:
    return {name: array.dtype.type for name, array in arrays.items() if array.dtype != np.float32}


def tanh_network(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    hidden = np.tanh(arrays["observations"] @ arrays[f"{name}.0.weight"].T + arrays[f"{name}.0.bias"])
    hidden = np.tanh(hidden @ arrays[f"{name}.2.weight"].T + arrays[f"{name}.2.bias"])
    return hidden @ arrays[f"{name}.4.weight"].T + arrays[f"{name}.4.bias"]


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


@pytest.mark.parametrize("benchmark", TAPES)
def test_tapes_are_the_same_bytes_as_ever(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"groups": 16, "size": 4, "batch": 1, "length": 128, "rows": 8, "capacity": 8, "observation": 4}
    sizes |= {"row_bytes": 16, "calls": 3}
    parameters = json.dumps(sizes)
    generate(monkeypatch, tmp_path, benchmark, "--case", "small", "--parameters", parameters)
    assert hashes(tmp_path / "small") == TAPES[benchmark]


@pytest.mark.parametrize(
    ("benchmark", "rows", "action"),
    [("env-single", "calls", 1), ("env-vector", "calls", 0), ("rollout", "steps", 0)],
)
def test_the_actions_of_environments_are_all_equal(
    benchmark: str, rows: str, action: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = json.dumps({"environments": 3, rows: 5})
    generate(monkeypatch, tmp_path, benchmark, "--case", "small", "--parameters", parameters)
    assert np.array_equal(np.load(tmp_path / "small" / "actions.npy"), np.full((5, 3), float(action)))


@pytest.mark.parametrize(("benchmark", "environment"), PARITY)
def test_parity_inputs_are_the_same_bytes_as_ever_and_anybody_may_read_them(
    benchmark: str, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays_of(monkeypatch, tmp_path, benchmark, environment)
    expected = {"parity.safetensors": PARITY[benchmark, environment]}
    assert hashes(tmp_path / environment) == expected
    file = tmp_path / environment / "parity.safetensors"
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert file.stat().st_mode == ordinary.stat().st_mode


def test_one_trajectory_has_one_axis_and_several_have_two() -> None:
    assert {each.shape for each in gae_arrays(batch=1, length=5, seed=42)} == {(5,)}
    assert {each.shape for each in gae_arrays(batch=3, length=5, seed=42)} == {(3, 5)}
    dones = gae_arrays(batch=8, length=2048, seed=42).dones
    assert set(np.unique(dones)) == {0.0, 1.0}
    assert dones.mean() == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("environment", "observation", "actions"),
    [("CartPole-v1", 4, 2), ("Acrobot-v1", 6, 3), ("MountainCar-v0", 2, 3)],
)
def test_the_minibatches_of_dqn_fit_the_environment(
    environment: str, observation: int, actions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = arrays_of(monkeypatch, tmp_path, "dqn", environment)
    widths = {"0": (120, observation), "2": (84, 120), "4": (actions, 84)}
    shapes = {}
    for network in ("online", "target"):
        for layer, shape in widths.items():
            shapes[f"{network}.{layer}.weight"] = shape
            shapes[f"{network}.{layer}.bias"] = shape[:1]
    shapes |= dict.fromkeys(("observations", "next_observations"), (100, 128, observation))
    shapes |= dict.fromkeys(("actions", "rewards", "terminations"), (100, 128))
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert types_other_than_f32(arrays) == {"actions": np.int64}
    assert set(np.unique(arrays["actions"])) == set(range(actions))
    assert arrays["terminations"].mean() == pytest.approx(0.1, abs=0.02)
    assert not np.array_equal(arrays["online.0.weight"], arrays["target.0.weight"])
    assert np.abs(arrays["online.0.weight"]).max() <= 1 / np.sqrt(observation)


def test_the_minibatches_of_ppo_are_clipped_here_and_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = arrays_of(monkeypatch, tmp_path, "ppo", "CartPole-v1")
    assert {arrays[name].shape for name in ("rollout.rewards", "rollout.dones", "rollout.values")} == {
        (128, 4)
    }
    assert set(arrays["rollout.next_done"]) == {0, 1}
    assert {arrays[name].shape for name in ("actions", "log_probabilities", "values", "returns")} == {
        (100, 128)
    }
    assert types_other_than_f32(arrays) == {"actions": np.int64}
    logits = tanh_network(arrays, "actor")
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(logits, arrays["actions"][..., None], axis=-1)[..., 0]
    ratios = np.exp(chosen - arrays["log_probabilities"])
    assert 0.2 < (np.abs(ratios - 1) > 0.2).mean() < 0.5
    moved = np.abs(tanh_network(arrays, "critic")[..., 0] - arrays["values"])
    assert 0.2 < (moved > 0.2).mean() < 0.5


def test_the_minibatches_of_sac_have_noise_for_every_sampling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = arrays_of(monkeypatch, tmp_path, "sac", "Pendulum-v1")
    critic = {"fc1": (256, 4), "fc2": (256, 256), "fc3": (1, 256)}
    layers = {
        "actor": {"fc1": (256, 3), "fc2": (256, 256), "fc_mean": (1, 256), "fc_logstd": (1, 256)},
        **dict.fromkeys(("qf1", "qf2", "qf1_target", "qf2_target"), critic),
    }
    shapes: dict[str, tuple[int, ...]] = {"log_alpha": (1,)}
    for network, widths in layers.items():
        for layer, shape in widths.items():
            shapes[f"{network}.{layer}.weight"] = shape
            shapes[f"{network}.{layer}.bias"] = shape[:1]
    shapes |= dict.fromkeys(("observations", "next_observations"), (100, 256, 3))
    shapes |= dict.fromkeys(("actions", "noise.next"), (100, 256, 1))
    shapes |= dict.fromkeys(("rewards", "terminations"), (100, 256))
    shapes |= dict.fromkeys(("noise.policy", "noise.alpha"), (100, 2, 256, 1))
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert types_other_than_f32(arrays) == {}
    assert 1.9 < np.abs(arrays["actions"]).max() <= 2
    assert not np.array_equal(arrays["qf1.fc1.weight"], arrays["qf1_target.fc1.weight"])


def test_the_networks_of_sac_are_as_wide_as_the_case_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = ["sac", "--case", "any", "--parameters"]
    generate(monkeypatch, tmp_path, *case, '{"hidden": 64}')
    arrays = load_file(tmp_path / "any" / "parity.safetensors")
    assert arrays["actor.fc1.weight"].shape == (64, 3)
    assert {arrays[f"{name}.fc2.weight"].shape for name in ("actor", "qf1", "qf2_target")} == {(64, 64)}
    for wrong in ("0", "4097", '"64"', "true"):
        with pytest.raises(SystemExit, match="2"):
            generate(monkeypatch, tmp_path, *case, f'{{"hidden": {wrong}}}')
        assert "give a whole number from 1 to 4096" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "layer", "minibatches"),
    [
        ({"algorithm": "dqn", "hidden": 32, "batch": 16}, ("online.2.weight", (32, 32)), (100, 16, 4)),
        ({"algorithm": "ppo", "batch": 16}, ("critic.2.weight", (64, 64)), (100, 16, 4)),
        ({"algorithm": "dqn", "hidden": 32, "rows": 1}, ("target.0.weight", (32, 4)), (100, 256, 4)),
        (
            {"algorithm": "critics", "hidden": 32, "observation": 17, "action": 6, "batch": 16},
            ("qf1.fc1.weight", (32, 23)),
            (100, 16, 17),
        ),
        (
            {"algorithm": "sac", "hidden": 32, "observation": 17, "action": 6, "rows": 1},
            ("actor.fc_mean.weight", (6, 32)),
            (100, 256, 17),
        ),
    ],
)
def test_networks_have_the_sizes_of_the_case(
    parameters: dict[str, object],
    layer: tuple[str, tuple[int, int]],
    minibatches: tuple[int, int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    benchmark = "nn-act" if "rows" in parameters else "nn-step"
    generate(monkeypatch, tmp_path, benchmark, "--case", "x", "--parameters", json.dumps(parameters))
    arrays = load_file(tmp_path / "x" / "parity.safetensors")
    name, shape = layer
    assert arrays[name].shape == shape
    assert arrays["observations"].shape == minibatches


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "td3"}, "give dqn, ppo, sac or critics"),
        ({"algorithm": "dqn"}, "parameter 'hidden' of case x is None; give a whole number from 1"),
        ({"algorithm": "ppo", "batch": 0}, "parameter 'batch' of case x is 0"),
    ],
)
def test_networks_without_sizes_are_refused(
    parameters: dict[str, object],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        generate(monkeypatch, tmp_path, "nn-step", "--case", "x", "--parameters", json.dumps(parameters))
    assert message in capsys.readouterr().err


def test_an_environment_that_dqn_is_not_measured_on_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        arrays_of(monkeypatch, tmp_path, "dqn", "LunarLander-v3")
    assert "give one of CartPole-v1, Acrobot-v1, MountainCar-v0" in capsys.readouterr().err


@pytest.mark.parametrize("parameters", ['{"batch":1}', '{"batch":0,"length":8}', '{"batch":true,"length":8}'])
def test_sizes_that_are_none_are_refused(
    parameters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        generate(monkeypatch, tmp_path, "gae", "--case", "x", "--parameters", parameters)
    assert "whole number from 1" in capsys.readouterr().err


def test_a_generator_has_no_referee_in_its_help_and_refuses_one(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["inputs", "--help"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "--referee" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        generate(
            monkeypatch,
            tmp_path,
            "gae",
            "--referee",
            "--case",
            "T=8",
            "--parameters",
            '{"batch":1,"length":8}',
        )
    assert "unrecognized arguments: --referee" in capsys.readouterr().err
