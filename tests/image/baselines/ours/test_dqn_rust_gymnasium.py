"""The Rust agent in Gymnasium's own environment does what it does in its own: runs inside the image."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# CartPole ends by falling, MountainCar by the limit of steps.
ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0")


def arguments(environment: str, inputs: Path, output: Path) -> list[str]:
    parameters = {
        "environment": environment,
        "steps": 3000,
        "learning_starts": 1000,
        "train_frequency": 10,
        "parity_updates": 2,
    }
    return [
        "--case", environment, "--parameters", json.dumps(parameters),
        "--seed", "3", "--input", str(inputs), "--output", str(output),
    ]  # fmt: skip


def run(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_it_tells_how_it_is_called() -> None:
    assert "--parameters JSON" in run([sys.executable, "-m", "baselines.ours.dqn_rust_gymnasium", "--help"])


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_real_environment_gives_the_same_files_and_counts(environment: str, tmp_path: Path) -> None:
    inputs, ours, theirs = tmp_path / "inputs", tmp_path / "ours", tmp_path / "theirs"
    run([
        sys.executable, "-m", "baselines.inputs", "dqn",
        "--case", environment, "--parameters", json.dumps({"environment": environment}),
        "--output", str(inputs),
    ])  # fmt: skip
    printed = [
        run([*command, *arguments(environment, inputs, output)])
        for command, output in (
            (["torchforge", "dqn"], ours),
            ([sys.executable, "-m", "baselines.ours.dqn_rust_gymnasium"], theirs),
        )
    ]
    counts = [json.loads(text.splitlines()[-1])["counts"] for text in printed]
    assert counts[0] == counts[1]
    assert counts[0]["gradient_steps"] == 199
    files = sorted(path.name for path in (ours / environment).iterdir())
    assert {"episodes.json", "weights.safetensors", "update.safetensors"} <= set(files)
    for name in files:
        assert (theirs / environment / name).read_bytes() == (ours / environment / name).read_bytes(), name


def test_an_environment_that_does_not_fit_is_an_error_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baselines.ours.dqn_rust_gymnasium"]
    for environment, expected in (
        ("Pendulum-v1", "has not discrete actions"),
        ("NoSuch-v9", "NoSuch"),
    ):
        result = subprocess.run(
            [*command, *arguments(environment, tmp_path, tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 2
        assert expected in result.stderr
        assert "Traceback" not in result.stderr


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
