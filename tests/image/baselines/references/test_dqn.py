"""DQN's baseline against CleanRL's episodes and arithmetic by hand. Needs torch: runs inside the image."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from jsonschema import Draft202012Validator
from safetensors.numpy import load_file

import runner
from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.inputs.parity import DQN_SIZES, dqn_arrays
from baselines.references import dqn
from baselines.references.replay_buffer import ReplayBuffer

GOLDEN = Path(__file__).parent / "golden" / "cleanrl_dqn_episode_ends.json"
SCHEMA = Path(runner.__file__).parent / "schemas" / "measurement.schema.json"
ROOT = Path(dqn.__file__).parents[2]
SMALL = {
    "environment": "CartPole-v1",
    "steps": 400,
    "learning_starts": 100,
    "train_frequency": 10,
    "parity_updates": 3,
}


def trained(seed: int, **parameters: object) -> training.Trained:
    torch.set_num_threads(1)
    training.seed_generators(seed, PYTORCH)
    return dqn.train(dqn.Parameters(**SMALL | parameters), seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_episodes_before_learning_starts_are_cleanrls(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first 10,001 steps of 500,000: epsilon must fall as slowly as in the whole run.
    monkeypatch.setattr(dqn, "EXPLORATION_FRACTION", 250_000 / 10_001)
    episodes = trained(seed, steps=10_001, learning_starts=10_000).episodes
    ends = json.loads(GOLDEN.read_text(encoding="utf-8"))[str(seed)]
    assert [episode.step for episode in episodes] == ends
    assert [episode.length for episode in episodes] == np.diff([-1, *ends]).tolist()
    assert all(episode.value == episode.length for episode in episodes)


def test_the_first_gradient_step_comes_after_learning_starts_and_none_at_it() -> None:
    assert trained(1, steps=111, learning_starts=100).gradient_steps == 1
    assert trained(1, steps=110, learning_starts=100).gradient_steps == 0
    assert trained(1).gradient_steps == (400 - 1) // 10 - 100 // 10


def test_the_same_seed_gives_the_same_episodes_and_another_seed_others() -> None:
    assert trained(5).episodes == trained(5).episodes != trained(6).episodes


def test_the_trace_says_what_was_done_at_which_step() -> None:
    trace = trained(1, steps=1600, learning_starts=490).trace
    steps = trace["update_steps"].tolist()
    assert steps == list(range(500, 1600, 10))
    assert trace["buffer_rows"].tolist() == [step + 1 for step in steps]
    assert trace["batch_rows"].tolist() == [128] * len(steps)
    assert trace["epsilon"].tolist() == [max(1 - 0.95 / 800 * step, 0.05) for step in steps]
    assert trace["copy_steps"].tolist() == [500, 1000, 1500]
    assert 0.9 < trace["initial.2.weight.bound"].item() <= 1


@pytest.mark.parametrize(("name", "sizes"), DQN_SIZES.items())
def test_it_plays_every_environment_of_the_benchmark(name: str, sizes: tuple[int, int]) -> None:
    weights = trained(1, environment=name, steps=120).weights
    assert (weights["0.weight"].shape[1], weights["4.weight"].shape[0]) == sizes


def test_the_ring_forgets_the_oldest_transition_first() -> None:
    buffer = ReplayBuffer(3, (1,), (1,), np.int64)
    for number in range(4):
        one = np.array([[number]], dtype=np.float32)
        buffer.add(one, one + 1, np.array([number]), np.array([float(number)]), np.array([number == 3]))
    assert buffer.rewards.ravel().tolist() == [3, 1, 2]
    batch = buffer.sample(64)
    assert sorted(set(batch.actions.ravel().tolist())) == [1, 2, 3]
    assert torch.equal(batch.next_observations, batch.observations + 1)
    assert torch.equal(batch.terminations.ravel(), (batch.rewards.ravel() == 3).float())


def test_the_network_and_the_minibatch_have_the_shapes_that_pytorch_gives() -> None:
    names = {
        f"online.{name}": tuple(value.shape) for name, value in dqn.make_network(4, 2).state_dict().items()
    }
    arrays = dqn_arrays("CartPole-v1", 42)
    assert names == {name: arrays[name].shape for name in arrays if name.startswith("online.")}


def test_one_update_is_that_of_the_formulas_in_double_precision() -> None:
    given = dqn_arrays("CartPole-v1", 42)
    found = dqn.parity({name: torch.from_numpy(array) for name, array in given.items()}, 1)
    of_first = {
        name: array if name[:6] in ("online", "target") else array[0] for name, array in given.items()
    }
    loss, gradients = loss_and_gradients({name: array.astype(float) for name, array in of_first.items()})
    assert float(found["loss"]) == pytest.approx(loss, rel=1e-5)
    for name, gradient in gradients.items():
        scale = np.abs(gradient).max()
        assert np.abs(found[f"gradient.{name}"].numpy() - gradient).max() <= 1e-4 * scale
        # Adam's first step from fresh moments: both bias corrections cancel.
        stepped = given[f"online.{name}"] - 2.5e-4 * gradient / (np.abs(gradient) + 1e-8)
        assert np.abs(found[f"parameter.{name}"].numpy() - stepped).max() <= 1e-4 * np.abs(stepped).max()


def test_consecutive_updates_go_on_from_one_another_and_stay_near_double_precision() -> None:
    given = {name: torch.from_numpy(each) for name, each in dqn_arrays("CartPole-v1", 42).items()}
    one, many = dqn.parity(given, 1), dqn.parity(given, 20)
    for name in dqn.make_network(4, 2).state_dict():
        assert torch.equal(one[f"after.{name}"], one[f"parameter.{name}"])
        assert torch.equal(many[f"parameter.{name}"], one[f"parameter.{name}"])
        assert many[f"exact.{name}"].dtype == torch.float64
        drift = (many[f"after.{name}"] - many[f"exact.{name}"]).abs().max()
        moved = (many[f"after.{name}"] - one[f"after.{name}"]).abs().max()
        assert drift < 1e-4 < moved


def loss_and_gradients(x: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """The squared temporal-difference error and its gradients, by hand."""
    rows = np.arange(len(x["actions"]))

    def layers(network: str, observations: np.ndarray) -> list[np.ndarray]:
        kept = [observations]
        for layer in (0, 2, 4):
            out = kept[-1] @ x[f"{network}.{layer}.weight"].T + x[f"{network}.{layer}.bias"]
            kept.append(out if layer == 4 else np.maximum(out, 0))
        return kept

    bootstrap = layers("target", x["next_observations"])[-1].max(axis=1)
    wanted = x["rewards"] + 0.99 * bootstrap * (1 - x["terminations"])
    kept = layers("online", x["observations"])
    error = kept[-1][rows, x["actions"].astype(int)] - wanted
    back = np.zeros_like(kept[-1])
    back[rows, x["actions"].astype(int)] = 2 * error / len(error)
    gradients = {}
    for layer, before in ((4, kept[2]), (2, kept[1]), (0, kept[0])):
        gradients[f"{layer}.weight"] = back.T @ before
        gradients[f"{layer}.bias"] = back.sum(axis=0)
        back = (back @ x[f"online.{layer}.weight"]) * (before > 0)
    return float((error**2).mean()), gradients


def test_started_as_the_runner_does_it_prints_what_the_schema_wants_and_writes_its_outputs(
    tmp_path: Path,
) -> None:
    case = ["--case", "CartPole-v1", "--parameters", json.dumps(SMALL)]
    made = ["-m", "baselines.inputs", "dqn", *case, "--seed", "42", "--output", str(tmp_path / "in")]
    subprocess.run([sys.executable, *made], check=True)
    command = ["-m", "baselines.references.dqn", *case, "--seed", "1"]
    printed = subprocess.run(
        [sys.executable, *command, "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    events = [json.loads(line) for line in printed.splitlines()]
    for event in events:
        Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(event)
    assert events[-1]["counts"] == {"environment_steps": 400, "gradient_steps": 29}
    metrics = events[-1]["metrics"]
    assert metrics["initialisation_seconds"] + metrics["training_seconds"] == pytest.approx(
        metrics["wall_seconds"]
    )
    written = tmp_path / "out" / "CartPole-v1"
    episodes = json.loads((written / "episodes.json").read_text(encoding="utf-8"))
    assert np.cumsum([each["length"] for each in episodes]).tolist() == [
        each["step"] + 1 for each in episodes
    ]
    assert load_file(written / "weights.safetensors")["2.weight"].shape == (84, 120)
    assert load_file(written / "update.safetensors")["gradient.4.bias"].shape == (2,)


def test_by_hand_from_the_root_it_says_where_it_writes(tmp_path: Path) -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "baselines.references.dqn",
            "--steps",
            "60",
            "--seed",
            "7",
            "--output",
            str(tmp_path / "out"),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert str(tmp_path / "out") in result.stderr
    assert json.loads(result.stdout) == json.loads(
        (tmp_path / "out" / "measurement.json").read_text(encoding="utf-8")
    )
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "actions.safetensors",
        "episodes.json",
        "measurement.json",
        "trace.safetensors",
        "weights.safetensors",
    }


def test_what_cannot_be_used_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    # So many steps that the time limit would say if the training had begun.
    case = ["--case", "CartPole-v1", "--parameters", json.dumps(SMALL | {"steps": 10**9})]
    (tmp_path / "CartPole-v1").mkdir()
    (tmp_path / "CartPole-v1" / "parity.safetensors").write_bytes(b"no tensors")
    for options, said in (
        ([*case, "--input", str(tmp_path)], "cannot read"),
        (["--input", str(tmp_path)], "--input is for a --case"),
        (["--environment", "Foo-v1"], "environment 'Foo-v1' cannot be used"),
        (["--environment", "Pendulum-v1"], "DQN needs discrete actions"),
    ):
        refused = subprocess.run(
            [sys.executable, "-m", "baselines.references.dqn", *options, "--output", str(tmp_path / "out")],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode == 2, refused.stderr
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
