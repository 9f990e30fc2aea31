"""Trainers with our module's environments, advantages and buffer: the reference's episodes, and each option's work.

Needs the extension module and torch: runs inside the image.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from baselines.benchmarks import training
from baselines.benchmarks.action_log import arrays_of
from baselines.benchmarks.phases import Watched
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.inputs.parity import ppo_arrays, sac_arrays
from baselines.ours import phases_ppo_torchforge, phases_sac_torchforge, ppo_torchforge_tuned
from baselines.references import ppo, sac
from baselines.tuned import ppo as tuned

PPO = ppo.Parameters(
    environment="CartPole-v1",
    environments=8,
    rollout_steps=128,
    minibatches=2,
    epochs=4,
    iterations=2,
    parity_updates=1,
)
# The first episode is cut off at step 199.
SAC = sac.Parameters(environment="Pendulum-v1", learning_starts=200, batch=256, steps=240, parity_updates=1)
OPTIONS = [
    frozenset[str](),
    frozenset({"arrays"}),
    frozenset({"preallocated"}),
    frozenset({"arrays", "preallocated"}),
    frozenset({"collect"}),
    frozenset({"arrays", "collect"}),
]


def trained(train: Callable[..., Trained], parameters: Any) -> Trained:
    torch.set_num_threads(1)
    training.seed_generators(1, PYTORCH)
    return train(parameters, 1)


def variant(words: frozenset[str]) -> Variant[Any]:
    return phases_ppo_torchforge.chosen(words)


FUSED = frozenset({"fused"})


@pytest.mark.parametrize("words", [*OPTIONS, FUSED], ids=lambda words: "-".join(sorted(words)) or "none")
def test_ppo_plays_the_references_first_rollout_and_logs_what_the_reference_logs(
    words: frozenset[str],
) -> None:
    one, other = trained(ppo.train, PPO), trained(variant(words).train, PPO)
    of_first = [[each for each in found.episodes if each.step < PPO.rollout_rows] for found in (one, other)]
    assert of_first[0] == of_first[1]
    assert len(of_first[0]) > 10
    theirs, mine = arrays_of(one.logs), arrays_of(other.logs)
    assert theirs.keys() == mine.keys()
    for name, array in theirs.items():
        assert array.dtype == mine[name].dtype
        if name.endswith("actions"):
            assert np.array_equal(array[: PPO.rollout_steps], mine[name][: PPO.rollout_steps])
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name
    assert (one.environment_steps, one.gradient_steps) == (other.environment_steps, other.gradient_steps)


def test_every_option_of_ppo_learns_the_same_weights() -> None:
    first, *others = [trained(variant(words).train, PPO) for words in OPTIONS]
    for other in others:
        assert other.episodes == first.episodes
        for name, weight in first.weights.items():
            assert torch.equal(weight, other.weights[name]), name


def test_a_collected_rollout_is_one_call_that_asks_at_every_step() -> None:
    found = trained(variant(frozenset({"collect", "phases"})).train, PPO)
    assert found.further_counts["crossings_collect"] == PPO.iterations
    # The agent is asked once a step, and once more for the values after a rollout; making what asks is a lap too.
    assert found.further_counts["laps_pytorch_acting"] == PPO.iterations * (PPO.rollout_steps + 2)
    whole = found.ended - found.started
    assert sum(found.further_metrics.values()) == pytest.approx(whole, rel=1e-6)
    assert found.further_metrics["phase_python_other_seconds"] < 0.05 * whole


def test_a_collected_rollout_has_no_arrays_that_were_made_before() -> None:
    with pytest.raises(SystemExit):
        variant(frozenset({"collect", "preallocated"}))


def test_actor_and_critic_in_one_pass_say_what_they_say_apart() -> None:
    torch.manual_seed(3)
    agent = ppo.make_agent(4, 3)
    with torch.no_grad():
        # After training no bias is 0, and the actor has preferences.
        for parameter in agent.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
        for rows in (1, 8, 1000):
            seen = torch.randn(rows, 4)
            said = []
            for acting in (phases_ppo_torchforge.apart, phases_ppo_torchforge.together):
                torch.manual_seed(5)
                said.append(acting(agent)(seen))
            for one, other in zip(*said, strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype)
            (actions, *numbers), (same_actions, *same_numbers) = said
            assert torch.equal(actions, same_actions)
            for one, other in zip(numbers, same_numbers, strict=True):
                assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_actor_and_critic_in_one_pass_act_by_the_newest_weights() -> None:
    plain, fused = (trained(variant(words).train, PPO) for words in (frozenset[str](), FUSED))
    # Of the second rollout too, which an agent of the first one's weights would play otherwise.
    assert plain.episodes == fused.episodes
    for name, weight in plain.weights.items():
        assert torch.allclose(weight, fused.weights[name], rtol=1e-3, atol=1e-5), name


def test_the_tuned_trainer_with_our_module_trains_as_the_tuned_one_does() -> None:
    one, other = trained(tuned.EAGER.train, PPO), trained(ppo_torchforge_tuned.train, PPO)
    assert one.episodes == other.episodes
    theirs, mine = arrays_of(one.logs), arrays_of(other.logs)
    assert theirs.keys() == mine.keys()
    for name, array in theirs.items():
        assert np.array_equal(array, mine[name]), name
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name
    assert (one.environment_steps, one.gradient_steps) == (other.environment_steps, other.gradient_steps)
    # Advantages are rounded once here and at every step there.
    for name, weight in one.weights.items():
        assert torch.allclose(weight, other.weights[name], rtol=1e-3, atol=1e-5), name


def test_32_environments_are_played_as_the_reference_plays_them() -> None:
    parameters = replace(PPO, environments=32, rollout_steps=32)
    one, other = trained(ppo.train, parameters), trained(variant(frozenset()).train, parameters)
    of_first = [
        [each for each in found.episodes if each.step < parameters.rollout_rows] for found in (one, other)
    ]
    assert of_first[0] == of_first[1]
    assert len(other.logs) == 32
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name


def test_a_compiled_ppo_compiles_all_before_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.utils import counters  # noqa: PLC0415 (seconds, and no other test needs it)

    # What is compiled does not depend on the backend, and this one needs no compiler of C++.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    compiled, plain = variant(frozenset({"compiled"})), variant(frozenset())
    assert compiled.compiling is not None
    compiled.compiling(PPO)
    graphs = counters["stats"]["unique_graphs"]
    # Actor and critic, while acting and while learning.
    assert graphs == 4
    found = trained(compiled.train, PPO)
    assert counters["stats"]["unique_graphs"] == graphs
    for name, weight in trained(plain.train, PPO).weights.items():
        assert torch.allclose(weight, found.weights[name], rtol=1e-4, atol=1e-5), name


def test_the_advantages_of_ppo_are_the_references() -> None:
    given = {name: torch.from_numpy(array) for name, array in ppo_arrays(42).items()}
    names = ("rewards", "dones", "values", "next_value", "next_done")
    arguments = [given[f"rollout.{name}"] for name in names]
    mine, theirs = phases_ppo_torchforge.advantages_of(*arguments), ppo.advantages_of(*arguments)
    assert mine.dtype == theirs.dtype
    assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_sac_takes_the_references_steps_and_plays_its_random_episode() -> None:
    one, other = (
        trained(train, SAC) for train in (sac.train, phases_sac_torchforge.chosen(frozenset()).train)
    )
    assert [each.length for each in one.episodes] == [200]
    assert one.episodes[0].value == pytest.approx(other.episodes[0].value, rel=1e-12)
    assert one.episodes[0].step == other.episodes[0].step
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name
    theirs, mine = arrays_of(one.logs), arrays_of(other.logs)
    assert np.array_equal(theirs["0.actions"][:200], mine["0.actions"][:200])
    assert np.array_equal(theirs["0.resets"], mine["0.resets"])


def test_8_environments_of_sac_take_the_references_steps_and_play_its_random_episodes() -> None:
    # Each environment has 210 steps, and one episode of 200. Actions are random until the last steps.
    parameters = replace(SAC, environments=8, steps=8 * 210, learning_starts=8 * 206)
    ours = phases_sac_torchforge.chosen(frozenset({"phases"})).train
    one, other = (trained(train, parameters) for train in (sac.train, ours))
    assert [each.step for each in one.episodes] == list(range(8 * 199, 8 * 200))
    for mine, theirs in zip(other.episodes, one.episodes, strict=True):
        assert mine[:2] == theirs[:2]
        assert mine.value == pytest.approx(theirs.value, rel=1e-12)
    assert one.trace["update_steps"].tolist() == list(range(8 * 206 + 1, 8 * 210))
    assert one.trace["truncations_stored_as_ends"] == 0
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name
    assert (one.environment_steps, one.gradient_steps) == (8 * 210, 8 * 4 - 1)
    assert (other.environment_steps, other.gradient_steps) == (8 * 210, 8 * 4 - 1)
    theirs, mine = arrays_of(one.logs), arrays_of(other.logs)
    assert theirs.keys() == mine.keys()
    for index in range(8):
        assert np.array_equal(theirs[f"{index}.actions"][:206], mine[f"{index}.actions"][:206])
        assert np.array_equal(theirs[f"{index}.resets"], mine[f"{index}.resets"])
    # A step and a push of all environments at once.
    crossings = {name: found for name, found in other.further_counts.items() if "crossings" in name}
    assert crossings == {
        **{"crossings_environment_step": 210, "crossings_push": 210, "crossings_rows": 8},
        **{"crossings_sample": 31, "crossings_minibatch_field": 5 * 31, "crossings_length": 31},
    }


def test_compiled_networks_of_sac_learn_what_the_plain_ones_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    given = {name: torch.from_numpy(array) for name, array in sac_arrays(42).items()}
    one, other = (
        phases_sac_torchforge.chosen(words).parity for words in (frozenset[str](), frozenset({"compiled"}))
    )
    assert one is not None
    assert other is not None
    plain, compiled = one(given, 1), other(given, 1)
    assert plain.keys() == compiled.keys()
    for name, tensor in plain.items():
        scale = tensor.abs().max().clamp(min=1e-6)
        # Where a gradient is all but 0, Adam's first step has its sign.
        error = (tensor - compiled[name]).square().mean().sqrt()
        assert error <= 1e-4 * scale, name


def test_foreach_moves_the_targets_as_the_loop_does() -> None:
    given = {name: torch.from_numpy(array) for name, array in sac_arrays(42).items()}
    one, other = (
        phases_sac_torchforge.chosen(words).parity for words in (frozenset[str](), frozenset({"foreach"}))
    )
    assert one is not None
    assert other is not None
    loop, foreach = one(given, 2), other(given, 2)
    for name in loop:
        if "_target" in name:
            assert torch.allclose(loop[name], foreach[name], rtol=1e-5, atol=1e-7), name


def test_a_compiled_sac_compiles_all_before_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.utils import counters  # noqa: PLC0415 (as above)

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    compiled = phases_sac_torchforge.chosen(frozenset({"compiled"}))
    assert compiled.compiling is not None
    # Another test may have compiled the same.
    torch._dynamo.reset()
    before = counters["stats"]["unique_graphs"]
    compiled.compiling(SAC)
    graphs = counters["stats"]["unique_graphs"]
    # The targets, both losses, and the log-probabilities that the temperature learns from.
    assert graphs == before + 4
    found = trained(compiled.train, SAC)
    assert counters["stats"]["unique_graphs"] == graphs
    plain = trained(phases_sac_torchforge.chosen(frozenset()).train, SAC)
    assert [each[:2] for each in found.episodes] == [each[:2] for each in plain.episodes]
    assert (found.environment_steps, found.gradient_steps) == (240, plain.gradient_steps)
    for name, fact in plain.trace.items():
        assert torch.equal(fact, found.trace[name]), name
    assert found.weights.keys() == plain.weights.keys()
    for name, weight in plain.weights.items():
        assert torch.dist(weight, found.weights[name]) <= 1e-3 * weight.norm(), name


@pytest.mark.parametrize(
    ("module", "parameters", "crossings"),
    [
        # As rlox's report counts: a step of all environments 128 times, and one look back.
        (phases_ppo_torchforge, PPO, {"environment_step": 256, "advantages": 2}),
        (
            phases_sac_torchforge,
            SAC,
            {
                **{"environment_step": 240, "environment_reset": 1, "push": 240, "rows": 1},
                **{"sample": 39, "minibatch_field": 5 * 39, "length": 39},
            },
        ),
    ],
    ids=["ppo", "sac"],
)
def test_phases_are_the_whole_loop_and_crossings_are_counted(
    module: Any, parameters: Any, crossings: dict[str, int]
) -> None:
    found = trained(module.chosen(frozenset({"phases"})).train, parameters)
    whole = found.ended - found.started
    assert sum(found.further_metrics.values()) == pytest.approx(whole, rel=1e-6)
    assert found.further_metrics["phase_python_other_seconds"] < 0.05 * whole
    counted = {
        name.removeprefix("crossings_"): count
        for name, count in found.further_counts.items()
        if name.startswith("crossings_")
    }
    assert counted == crossings
    plain = trained(module.chosen(frozenset()).train, parameters)
    assert (plain.further_metrics, plain.further_counts) == ({}, {})
    assert plain.episodes == found.episodes


@pytest.mark.parametrize(
    ("module", "parameters"), [(phases_ppo_torchforge, PPO), (phases_sac_torchforge, SAC)], ids=["ppo", "sac"]
)
def test_no_call_of_our_module_is_left_out(module: Any, parameters: Any) -> None:
    # Python's profiler sees the functions and methods of Rust. It sees neither attributes nor len().
    seen: Counter[str] = Counter()

    def profile(_: Any, event: str, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        names = (getattr(owner, "__name__", ""), type(owner).__module__)
        if event == "c_call" and any(name.split(".")[0] in {"torchforge", "_torchforge"} for name in names):
            seen[function.__name__] += 1

    sys.setprofile(profile)
    try:
        found = trained(module.chosen(frozenset({"phases"})).train, parameters)
    finally:
        sys.setprofile(None)
    unseen = {"crossings_minibatch_field", "crossings_length"}
    counted = sum(
        count
        for name, count in found.further_counts.items()
        if name.startswith("crossings_") and name not in unseen
    )
    # Before the loop: make or make_vec, and reset.
    assert seen.total() == counted + 2, (seen, found.further_counts)


def test_the_watch_is_that_of_the_option() -> None:
    assert phases_ppo_torchforge.chosen(frozenset({"phases"})).train.keywords["watching"] is Watched  # type: ignore[attr-defined]
