"""The instrumented references are the references: the same draws, episodes and weights, and nothing but a clock besides.

Needs torch: runs inside the image.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from baselines.benchmarks import training
from baselines.benchmarks.phases import Unwatched, Watched
from baselines.benchmarks.training import Trained
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.references import phases_ppo, phases_sac, ppo, sac

PPO = {"environment": "CartPole-v1", "environments": 8, "rollout_steps": 128, "minibatches": 2, "epochs": 4}
# The first episode is cut off at step 199.
SAC = {"environment": "Pendulum-v1", "learning_starts": 200, "batch": 256, "steps": 240}
TRAININGS = {
    "ppo": (ppo.train, phases_ppo.train, ppo.Parameters(**PPO, iterations=2, parity_updates=1)),
    "sac": (sac.train, phases_sac.train, sac.Parameters(**SAC, parity_updates=1)),
    "sac-8": (sac.train, phases_sac.train, sac.Parameters(**SAC, environments=8, parity_updates=1)),
}


def trained(train: Callable[..., Trained], parameters: Any, **how: Any) -> Trained:
    torch.set_num_threads(1)
    training.seed_generators(1, PYTORCH)
    return train(parameters, 1, **how)


@pytest.mark.parametrize("algorithm", TRAININGS)
@pytest.mark.parametrize("watching", [Unwatched, Watched])
def test_an_instrumented_reference_is_the_reference_to_the_bit(algorithm: str, watching: Any) -> None:
    plain, phased, parameters = TRAININGS[algorithm]
    one, other = trained(plain, parameters), trained(phased, parameters, watching=watching)
    assert one.episodes == other.episodes
    assert (one.environment_steps, one.gradient_steps) == (other.environment_steps, other.gradient_steps)
    assert one.weights.keys() == other.weights.keys()
    for name, weight in one.weights.items():
        assert torch.equal(weight, other.weights[name]), name
    assert one.trace.keys() == other.trace.keys()
    for name, fact in one.trace.items():
        assert torch.equal(fact, other.trace[name]), name


@pytest.mark.parametrize("algorithm", TRAININGS)
def test_the_phases_of_a_reference_are_its_whole_loop_and_nearly_all_have_a_name(algorithm: str) -> None:
    _, phased, parameters = TRAININGS[algorithm]
    found = trained(phased, parameters, watching=Watched)
    whole = found.ended - found.started
    assert sum(found.further_metrics.values()) == pytest.approx(whole, rel=1e-6)
    assert found.further_metrics["phase_python_other_seconds"] < 0.05 * whole
    assert not any(name.startswith("crossings") for name in found.further_counts)
