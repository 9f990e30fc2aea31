"""The Rust agents in Gymnasium's own environments do what they do in theirs: runs inside the image."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

PARAMETERS: dict[str, dict[str, Any]] = {
    "dqn": {"steps": 3000, "learning_starts": 1000, "train_frequency": 10},
    # So many that a pole stands until the limit of steps.
    "ppo": {"environments": 4, "rollout_steps": 128, "minibatches": 4, "epochs": 4, "iterations": 82},
    "sac": {"steps": 440, "learning_starts": 420, "batch": 256},
}
GRADIENT_STEPS = {"dqn": 199, "ppo": 1312, "sac": 19}


def baseline(algorithm: str) -> list[str]:
    return [sys.executable, "-m", f"baselines.ours.{algorithm}_rust_gymnasium"]


def arguments(algorithm: str, environment: str, inputs: Path, output: Path) -> list[str]:
    parameters = {"environment": environment, "parity_updates": 2, **PARAMETERS[algorithm]}
    return [
        "--case", environment, "--parameters", json.dumps(parameters),
        "--seed", "3", "--input", str(inputs), "--output", str(output),
    ]  # fmt: skip


def run(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("algorithm", PARAMETERS)
def test_it_tells_how_it_is_called(algorithm: str) -> None:
    told = run([*baseline(algorithm), "--help"])
    assert "--parameters JSON" in told
    assert f"`{algorithm}` by the Rust agent" in told


@pytest.mark.parametrize(
    ("algorithm", "environment", "reaches_limit"),
    [
        ("dqn", "CartPole-v1", False),
        ("dqn", "MountainCar-v0", True),
        ("ppo", "CartPole-v1", True),
        ("sac", "Pendulum-v1", True),
    ],
)
def test_the_real_environment_gives_the_same_files_and_counts(
    algorithm: str, environment: str, reaches_limit: bool, tmp_path: Path
) -> None:
    inputs, ours, theirs = tmp_path / "inputs", tmp_path / "ours", tmp_path / "theirs"
    run([
        sys.executable, "-m", "baselines.inputs", algorithm,
        "--case", environment, "--parameters", json.dumps({"environment": environment, **PARAMETERS[algorithm]}),
        "--output", str(inputs),
    ])  # fmt: skip
    printed = [
        run([*command, *arguments(algorithm, environment, inputs, output)])
        for command, output in ((["torchforge", algorithm], ours), (baseline(algorithm), theirs))
    ]
    counts = [json.loads(text.splitlines()[-1])["counts"] for text in printed]
    assert counts[0] == counts[1]
    assert counts[0]["gradient_steps"] == GRADIENT_STEPS[algorithm]
    longest = max(each["length"] for each in json.loads((ours / environment / "episodes.json").read_text()))
    assert (longest == gymnasium.spec(environment).max_episode_steps) is reaches_limit
    files = sorted(path.name for path in (ours / environment).iterdir())
    assert {"episodes.json", "weights.safetensors", "update.safetensors"} <= set(files)
    for name in files:
        assert (theirs / environment / name).read_bytes() == (ours / environment / name).read_bytes(), name


@pytest.mark.parametrize(
    ("algorithm", "environment", "expected"),
    [
        ("dqn", "Pendulum-v1", "has not discrete actions"),
        ("dqn", "NoSuch-v9", "NoSuch"),
        ("ppo", "Pendulum-v1", "has not discrete actions"),
        ("sac", "CartPole-v1", "has not continuous actions"),
    ],
)
def test_an_environment_that_does_not_fit_is_an_error_of_its_own(
    algorithm: str, environment: str, expected: str, tmp_path: Path
) -> None:
    command = [*baseline(algorithm), *arguments(algorithm, environment, tmp_path, tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert expected in result.stderr
    assert "Traceback" not in result.stderr


def test_what_no_training_is_is_refused() -> None:
    agent = "import sys, torchforge; sys.exit(torchforge.train_in(None, ['gae', '--help'], 0.0))"
    result = subprocess.run([sys.executable, "-c", agent], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "give dqn, ppo or sac, and --case" in result.stderr


def test_a_cap_on_instructions_reaches_the_agent_and_the_libraries_beside_it() -> None:
    agent = "import sys, torchforge; sys.exit(torchforge.train_in(None, [], 0.0))"
    # The module itself refuses to be imported, and a baseline leaves as for any wrong use.
    for command, cap, code, expected in (
        (["-c", agent], "sse9", 1, "ImportError: FORGE_BENCH_SIMD cannot be used"),
        (["-m", "baselines.ours.dqn_rust_gymnasium"], "portable", 2, "set it to avx2, or leave it unset"),
    ):
        result = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, "FORGE_BENCH_SIMD": cap},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == code
        assert expected in result.stderr
