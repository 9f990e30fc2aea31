"""PPO's baseline against CleanRL's episodes and arithmetic by hand. Needs torch: runs inside the image."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.inputs.parity import ppo_arrays
from baselines.references import ppo

GOLDEN = Path(__file__).parent / "golden" / "cleanrl_ppo_episode_ends.json"
SMALL = {
    "environment": "CartPole-v1",
    "environments": 4,
    "rollout_steps": 128,
    "minibatches": 4,
    "epochs": 4,
    "iterations": 2,
    "parity_updates": 1,
}


def trained(seed: int, **parameters: object) -> training.Trained:
    torch.set_num_threads(1)
    training.seed_generators(seed, PYTORCH)
    return ppo.train(ppo.Parameters(**SMALL | parameters), seed)


def given(**replaced: np.ndarray) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(each) for name, each in (ppo_arrays(42) | replaced).items()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_episodes_of_the_first_rollout_are_cleanrls(seed: int) -> None:
    episodes = trained(seed, iterations=1).episodes
    # CleanRL counts a step of all four environments at once.
    ends = [episode.step // 4 * 4 + 4 for episode in episodes]
    assert ends == json.loads(GOLDEN.read_text(encoding="utf-8"))[str(seed)]
    assert all(episode.value == episode.length for episode in episodes)


def test_the_episodes_of_each_environment_follow_one_another() -> None:
    played = [0] * 4
    for episode in trained(1).episodes:
        environment = episode.step % 4
        played[environment] += episode.length
        assert episode.step == (played[environment] - 1) * 4 + environment


def test_the_trace_says_what_was_done_when() -> None:
    run = trained(1, iterations=4)
    assert (run.environment_steps, run.gradient_steps) == (4 * 512, 4 * 16)
    assert run.trace["learning_rate"].tolist() == pytest.approx(
        [2.5e-4, 1.875e-4, 1.25e-4, 0.625e-4], rel=1e-12
    )
    assert run.trace["update_steps"].tolist() == [512 * (1 + index // 16) for index in range(64)]
    assert run.trace["batch_rows"].tolist() == [128] * 64


@pytest.mark.parametrize(
    ("layer", "gain"), [("actor.0", 2), ("actor.2", 2), ("actor.4", 1e-4), ("critic.0", 2), ("critic.4", 1)]
)
def test_first_weights_are_orthogonal(layer: str, gain: float) -> None:
    trace = trained(1, iterations=1).trace
    gram = trace[f"initial.{layer}.weight.gram"]
    assert torch.allclose(gram, gain * torch.eye(len(gram)), rtol=0, atol=1e-5 * gain)
    assert not trace[f"initial.{layer}.bias"].any()


def test_advantages_are_those_of_the_definition() -> None:
    x = {name: array.astype(float) for name, array in ppo_arrays(42).items()}
    rewards, values, ended = x["rollout.rewards"], x["rollout.values"], x["rollout.dones"]
    ended = np.vstack([ended[1:], x["rollout.next_done"]])
    following = np.vstack([values[1:], x["rollout.next_value"]])
    errors = rewards + 0.99 * following * (1 - ended) - values
    wanted = np.zeros_like(rewards)
    for t in range(128):
        weight = np.ones(4)
        for later in range(t, 128):
            wanted[t] += weight * errors[later]
            weight = weight * 0.99 * 0.95 * (1 - ended[later])
    found = ppo.parity(given(), 1)
    assert np.abs(found["advantages"].numpy() - wanted).max() <= 1e-5 * np.abs(wanted).max()
    assert torch.equal(found["returns"], found["advantages"] + given()["rollout.values"])


def test_one_update_is_that_of_the_formulas_in_double_precision() -> None:
    arrays = ppo_arrays(42)
    found = ppo.parity(given(), 1)
    losses = losses_by_hand({name: array.astype(float) for name, array in arrays.items()})
    for name, wanted in losses.items():
        assert float(found[name]) == pytest.approx(wanted, rel=1e-5), name
    # What was clipped is what Adam stepped by, its epsilon beside the root.
    norm = float(found["gradient_norm"])
    gradients = {
        name: found[f"gradient.{name}"].numpy() for name in arrays if name[:6] in ("actor.", "critic")
    }
    clipped = np.sqrt(sum((each.astype(float) ** 2).sum() for each in gradients.values()))
    assert clipped == pytest.approx(min(norm, 0.5), rel=1e-4)
    for name, gradient in gradients.items():
        stepped = arrays[name] - 2.5e-4 * gradient / (np.abs(gradient) + 1e-5)
        assert np.abs(found[f"parameter.{name}"].numpy() - stepped).max() <= 1e-6


@pytest.mark.parametrize(("name", "index"), [("actor.4.weight", (0, 3)), ("critic.2.weight", (5, 7))])
def test_gradients_are_those_of_finite_differences(name: str, index: tuple[int, int]) -> None:
    arrays = {key: array.astype(float) for key, array in ppo_arrays(42).items()}
    sides = []
    for step in (1e-6, -1e-6):
        moved = arrays[name].copy()
        moved[index] += step
        sides.append(losses_by_hand(arrays | {name: moved})["loss"])
    found = ppo.parity(given(), 1)
    slope = (sides[0] - sides[1]) / 2e-6 * min(1.0, 0.5 / float(found["gradient_norm"]))
    gradient = found[f"gradient.{name}"]
    assert float(gradient[index]) == pytest.approx(slope, abs=1e-4 * float(gradient.abs().max()))


def losses_by_hand(x: dict[str, np.ndarray]) -> dict[str, float]:
    """The losses of the first minibatch, by hand."""
    part = {
        name: x[name][0] for name in ("observations", "log_probabilities", "advantages", "returns", "values")
    }

    def network(name: str) -> np.ndarray:
        hidden = part["observations"]
        for layer in (0, 2, 4):
            hidden = hidden @ x[f"{name}.{layer}.weight"].T + x[f"{name}.{layer}.bias"]
            hidden = hidden if layer == 4 else np.tanh(hidden)
        return hidden

    logits = network("actor")
    logits = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    entropy = -(logits * np.exp(logits)).sum(axis=1).mean()
    chosen = logits[np.arange(len(logits)), x["actions"][0].astype(int)]
    ratio = np.exp(chosen - part["log_probabilities"])
    advantages = part["advantages"]
    advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
    policy = -np.minimum(advantages * ratio, advantages * np.clip(ratio, 0.8, 1.2)).mean()
    values = network("critic")[:, 0]
    near = part["values"] + np.clip(values - part["values"], -0.2, 0.2)
    value = 0.5 * np.maximum((values - part["returns"]) ** 2, (near - part["returns"]) ** 2).mean()
    loss = policy - 0.01 * entropy + 0.5 * value
    return {"loss": loss, "policy_loss": policy, "value_loss": value, "entropy": entropy}
