"""SAC's baseline against CleanRL's episodes and arithmetic by hand. Needs torch: runs inside the image."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.inputs.parity import sac_arrays
from baselines.references import sac

GOLDEN = Path(__file__).parent / "golden" / "cleanrl_sac_returns.json"
SMALL = {"environment": "Pendulum-v1", "steps": 48, "learning_starts": 40, "batch": 256, "parity_updates": 1}


def trained(seed: int, **parameters: object) -> training.Trained:
    torch.set_num_threads(1)
    training.seed_generators(seed, PYTORCH)
    return sac.train(sac.Parameters(**SMALL | parameters), seed)


def given() -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(each) for name, each in sac_arrays(42).items()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_episodes_before_learning_starts_are_cleanrls(seed: int) -> None:
    episodes = trained(seed, steps=1000, learning_starts=1000).episodes
    assert [episode.step for episode in episodes] == [199, 399, 599, 799, 999]
    printed = json.loads(GOLDEN.read_text(encoding="utf-8"))[str(seed)]
    assert [episode.value for episode in episodes] == pytest.approx(printed, rel=1e-6)


def test_the_trace_says_what_was_done_at_which_step() -> None:
    run = trained(1)
    assert (run.environment_steps, run.gradient_steps) == (48, 7)
    trace = {name: each.tolist() for name, each in run.trace.items()}
    assert trace["update_steps"] == trace["target_steps"] == [41, 42, 43, 44, 45, 46, 47]
    assert trace["policy_steps"] == [42, 42, 44, 44, 46, 46]
    assert trace["buffer_rows"] == [42, 43, 44, 45, 46, 47, 48]
    assert trace["batch_rows"] == [256] * 7
    assert trace["buffer_capacity"] == [1_000_000]
    assert trace["initial.qf2.fc2.weight.bound"][0] == pytest.approx(1, abs=0.01)
    assert len([name for name in trace if name.startswith("initial.")]) == 4 + 3 + 3


def test_several_environments_take_their_steps_together_and_are_learned_from_as_often() -> None:
    run = trained(1, environments=4)
    assert (run.environment_steps, run.gradient_steps) == (48, 7)
    trace = {name: each.tolist() for name, each in run.trace.items()}
    assert trace["update_steps"] == [41, 42, 43, 44, 45, 46, 47]
    assert trace["policy_steps"] == [42, 42, 44, 44, 46, 46]
    # All transitions of a step are there before the first update behind it.
    assert trace["buffer_rows"] == [44, 44, 44, 48, 48, 48, 48]
    assert len(run.logs) == 4


def test_steps_are_a_multiple_of_the_environments() -> None:
    with pytest.raises(ValueError, match="'steps' must be a multiple of the 5 environments"):
        trained(1, environments=5)


def test_it_plays_any_task_of_continuous_actions() -> None:
    weights = trained(1, environment="MountainCarContinuous-v0").weights
    assert weights["actor.fc1.weight"].shape == (256, 2)


def test_a_task_of_discrete_actions_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        trained(1, environment="CartPole-v1")
    assert "continuous actions" in capsys.readouterr().err


def test_one_update_is_that_of_the_formulas_in_double_precision() -> None:
    x = {name: array.astype(float) for name, array in sac_arrays(42).items()}
    found = sac.parity(given(), 1)
    alpha = np.exp(x["log_alpha"])
    actions, logs = sample_by_hand(x, x["next_observations"][0], x["noise.next"][0])
    following = np.minimum(
        *(value_by_hand(x, f"qf{i}_target", x["next_observations"][0], actions) for i in (1, 2))
    )
    wanted = x["rewards"][0] + 0.99 * (1 - x["terminations"][0]) * (following - alpha * logs)
    values = [value_by_hand(x, f"qf{i}", x["observations"][0], x["actions"][0]) for i in (1, 2)]
    assert float(found["qf_loss"]) == pytest.approx(
        sum(((each - wanted) ** 2).mean() for each in values), rel=1e-5
    )
    # The head's bias has the errors' mean as its gradient.
    bias = 2 * (values[1] - wanted).mean()
    assert float(found["gradient.qf2.fc3.bias"]) == pytest.approx(bias, rel=1e-4)

    # The actor learns from the critics as they are after their step, which the first noise does not change.
    stepped = x | {
        name: each - 1e-3 * gradient / (np.abs(gradient) + 1e-8)
        for name, each in x.items()
        if name.split(".")[0] in ("qf1", "qf2")
        for gradient in [found[f"gradient.{name}"].numpy().astype(float)]
    }
    loss = actor_loss_by_hand(stepped, alpha)
    assert float(found["actor_loss"]) == pytest.approx(loss, rel=1e-5)
    for name, index in (
        ("actor.fc_mean.weight", (0, 5)),
        ("actor.fc2.bias", (3,)),
        ("actor.fc_logstd.bias", (0,)),
    ):
        sides = []
        for step in (1e-6, -1e-6):
            moved = stepped[name].copy()
            moved[index] += step
            sides.append(actor_loss_by_hand(stepped | {name: moved}, alpha))
        gradient = found[f"gradient.{name}"]
        slope = (sides[0] - sides[1]) / 2e-6
        assert float(gradient[index]) == pytest.approx(slope, abs=1e-3 * float(gradient.abs().max())), name

    actor = {
        name: each - 3e-4 * gradient / (np.abs(gradient) + 1e-8)
        for name, each in x.items()
        if name.startswith("actor.")
        for gradient in [found[f"gradient.{name}"].numpy().astype(float)]
    }
    _, logs = sample_by_hand(x | actor, x["observations"][0], x["noise.alpha"][0, 0])
    gradient = -alpha[0] * (logs - 1.0).mean()
    assert float(found["gradient.log_alpha"]) == pytest.approx(gradient, rel=1e-4)
    assert float(found["alpha_loss"]) == pytest.approx(gradient, rel=1e-4)
    log_alpha = x["log_alpha"][0] - 1e-3 * np.sign(gradient)
    assert float(found["alpha"]) == pytest.approx(np.exp(log_alpha), rel=1e-6)


def test_targets_move_by_tau_and_an_odd_update_leaves_the_actor_alone() -> None:
    one, two = sac.parity(given(), 1), sac.parity(given(), 2)
    before = given()["qf1_target.fc2.weight"]
    moved = 0.005 * one["parameter.qf1.fc2.weight"] + 0.995 * before
    assert torch.allclose(one["parameter.qf1_target.fc2.weight"], moved, rtol=0, atol=1e-7)
    assert torch.equal(two["after.actor.fc1.weight"], one["after.actor.fc1.weight"])
    assert torch.equal(two["after.log_alpha"], one["after.log_alpha"])
    assert not torch.equal(two["after.qf1.fc1.weight"], one["after.qf1.fc1.weight"])


def value_by_hand(
    x: dict[str, np.ndarray], name: str, observations: np.ndarray, actions: np.ndarray
) -> np.ndarray:
    hidden = np.concatenate([observations, actions], axis=1)
    for layer in ("fc1", "fc2", "fc3"):
        hidden = hidden @ x[f"{name}.{layer}.weight"].T + x[f"{name}.{layer}.bias"]
        hidden = hidden if layer == "fc3" else np.maximum(hidden, 0)
    return hidden[:, 0]


def sample_by_hand(
    x: dict[str, np.ndarray], observations: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    hidden = observations
    for layer in ("fc1", "fc2"):
        hidden = np.maximum(hidden @ x[f"actor.{layer}.weight"].T + x[f"actor.{layer}.bias"], 0)
    mean = hidden @ x["actor.fc_mean.weight"].T + x["actor.fc_mean.bias"]
    log_std = -5 + 3.5 * (np.tanh(hidden @ x["actor.fc_logstd.weight"].T + x["actor.fc_logstd.bias"]) + 1)
    squashed = np.tanh(mean + noise * np.exp(log_std))
    density = -(noise**2) / 2 - log_std - np.log(2 * np.pi) / 2
    return 2 * squashed, (density - np.log(2 * (1 - squashed**2) + 1e-6))[:, 0]


def actor_loss_by_hand(x: dict[str, np.ndarray], alpha: np.ndarray) -> float:
    actions, logs = sample_by_hand(x, x["observations"][0], x["noise.policy"][0, 0])
    values = np.minimum(*(value_by_hand(x, f"qf{i}", x["observations"][0], actions) for i in (1, 2)))
    return float((alpha * logs - values).mean())
