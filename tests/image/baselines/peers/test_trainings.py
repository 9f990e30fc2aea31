"""The trainings by other libraries: their counts and their episodes. Needs them: runs inside the image `peers`."""

import json
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from baselines.benchmarks import training
from baselines.peers import (
    dqn_jax,
    dqn_rlox,
    dqn_sb3,
    dqn_torchrl,
    ppo_jax,
    ppo_rlox,
    ppo_sb3,
    ppo_torchrl,
    sac_jax,
    sac_rlox,
    sac_rltools,
    sac_sb3,
    sac_torchrl,
)

SIZES: dict[str, dict[str, object]] = {
    "dqn": {"environment": "CartPole-v1", "learning_starts": 200, "train_frequency": 10, "steps": 400},
    "ppo": {
        "environment": "CartPole-v1",
        "environments": 4,
        "rollout_steps": 128,
        "minibatches": 4,
        "epochs": 4,
        "iterations": 2,
    },
    # Of these sizes is the program in RLtools.
    "sac": {"environment": "Pendulum-v1", "learning_starts": 1000, "batch": 256, "steps": 1021},
}
# As the matrix works them out: the multiples of ten from 210 to 390; two iterations of sixteen; all after step 1000.
GRADIENT_STEPS = {"dqn": 19, "ppo": 32, "sac": 20}
ENVIRONMENT_STEPS = {"dqn": 400, "ppo": 1024, "sac": 1021}
MODULES = [
    *(dqn_jax, dqn_rlox, dqn_sb3, dqn_torchrl),
    *(ppo_jax, ppo_rlox, ppo_sb3, ppo_torchrl),
    *(sac_jax, sac_rlox, sac_rltools, sac_sb3, sac_torchrl),
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_peer_takes_as_many_steps_as_the_reference_and_keeps_every_episode(module: ModuleType) -> None:
    algorithm = module.__name__.rpartition(".")[2].partition("_")[0]
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    parameters = module.work.Parameters(**SIZES[algorithm], parity_updates=1)
    trained: training.Trained = module.train(parameters, 1)
    assert trained.environment_steps == ENVIRONMENT_STEPS[algorithm]
    assert trained.gradient_steps == GRADIENT_STEPS[algorithm]
    environments = int(SIZES[algorithm].get("environments", 1))  # type: ignore[call-overload]
    played = [0] * environments
    for episode in trained.episodes:
        environment = episode.step % environments
        played[environment] += episode.length
        assert episode.step == (played[environment] - 1) * environments + environment
        if algorithm == "sac":
            assert episode.length == 200
            assert -2000 < episode.value < 0
        else:
            assert episode.value == episode.length
    assert trained.episodes == sorted(trained.episodes)
    assert len(trained.episodes) == 5 if algorithm == "sac" else len(trained.episodes) > 3
    assert trained.weights


def test_dqn_by_stable_baselines3_learns() -> None:
    """With the library's own loss an episode took 10 steps in the end, fewer than a random agent's 22."""
    torch.set_num_threads(1)
    parameters = dqn_sb3.work.Parameters(
        environment="CartPole-v1", learning_starts=2000, train_frequency=10, steps=12_000, parity_updates=1
    )
    trained = dqn_sb3.train(parameters, 1)
    last = np.mean([episode.length for episode in trained.episodes[-50:]])
    assert last > 30, (
        f"the last 50 episodes took {last} steps; look at the loss in baselines/peers/dqn_sb3.py"
    )


@pytest.mark.parametrize(
    "module", [dqn_torchrl, ppo_jax, ppo_sb3, sac_rlox], ids=lambda module: module.__name__
)
def test_the_command_of_a_peer_prints_events_alone_whatever_its_library_says(module: ModuleType) -> None:
    algorithm = module.__name__.rpartition(".")[2].partition("_")[0]
    parameters = json.dumps({**SIZES[algorithm], "parity_updates": 1})
    command = [
        sys.executable,
        "-m",
        module.__name__,
        "--case",
        "any",
        "--parameters",
        parameters,
        "--seed",
        "1",
    ]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    events = [json.loads(line)["event"] for line in outcome.stdout.splitlines()]
    assert events[-1] == "measurement"
    assert set(events) <= {"progress", "measurement"}


# Runs a command's module as `python3 -m` does, and tells then whether PyTorch was imported, however late.
_THEN_LOOKED_AT = """
import runpy, sys
sys.argv[0] = sys.argv.pop(1)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
sys.exit("torch was imported" if "torch" in sys.modules else 0)
"""


@pytest.mark.parametrize(
    "module", [dqn_jax, ppo_jax, sac_jax, sac_rltools, sac_sb3], ids=lambda module: module.__name__
)
def test_pytorch_is_only_in_the_process_of_a_library_that_trains_with_it(
    module: ModuleType, tmp_path: Path
) -> None:
    algorithm = module.__name__.rpartition(".")[2].partition("_")[0]
    name = str(SIZES[algorithm]["environment"])
    case = ["--case", name, "--parameters", json.dumps({**SIZES[algorithm], "parity_updates": 1})]
    inputs = [sys.executable, "-m", "baselines.inputs", algorithm, *case, "--output", str(tmp_path / "in")]
    subprocess.run(inputs, check=True)
    folders = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    outcome = subprocess.run(
        [sys.executable, "-c", _THEN_LOOKED_AT, module.__name__, *case, *folders],
        capture_output=True,
        text=True,
        check=False,
    )
    expected = "torch was imported" if module is sac_sb3 else ""
    assert outcome.stderr.strip().endswith(expected)
    assert outcome.returncode == bool(expected), outcome.stderr
    assert (tmp_path / "out" / name / "weights.safetensors").exists()
