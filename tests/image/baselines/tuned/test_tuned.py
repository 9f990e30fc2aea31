"""The tuned variants play the faithful ones' episodes and compute their updates. Needs torch: runs inside the image.

What torch.compile makes is tried where there is a compiler, and by the benchmark's own gate in the image `compile`.
"""

import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.references import dqn, ppo, sac
from baselines.references.replay_buffer import ReplayBuffer
from baselines.tuned import dqn as tuned_dqn
from baselines.tuned import ppo as tuned_ppo
from baselines.tuned import sac as tuned_sac
from baselines.tuned.ring import Ring

CASES = {
    "dqn": {"environment": "CartPole-v1", "steps": 700, "learning_starts": 100, "train_frequency": 10},
    "dqn-acrobot": {"environment": "Acrobot-v1", "steps": 700, "learning_starts": 650, "train_frequency": 10},
    "dqn-mountain-car": {
        "environment": "MountainCar-v0",
        "steps": 300,
        "learning_starts": 250,
        "train_frequency": 10,
    },
    "ppo": {
        "environment": "CartPole-v1",
        "environments": 4,
        "rollout_steps": 128,
        "minibatches": 4,
        "epochs": 4,
        "iterations": 2,
    },
    "sac": {"environment": "Pendulum-v1", "steps": 230, "learning_starts": 200, "batch": 32},
    "sac-car": {
        "environment": "MountainCarContinuous-v0",
        "steps": 1020,
        "learning_starts": 1010,
        "batch": 32,
    },
}
MODULES = {
    "dqn": (dqn, tuned_dqn),
    "ppo": (ppo, tuned_ppo),
    "sac": (sac, tuned_sac),
}
INPUTS = {
    "dqn": lambda: dqn_arrays("CartPole-v1", 42),
    "ppo": lambda: ppo_arrays(42),
    "sac": lambda: sac_arrays(42),
}
# Where there is no compiler there is nothing to compile with, as in every image but `compile`.
HAS_COMPILER = shutil.which("g++") and Path(sysconfig.get_path("include"), "Python.h").exists()
FLAGS = ["tuned", "compile"] if HAS_COMPILER else ["tuned"]


@pytest.fixture(autouse=True)
def _as_before() -> object:
    torch.set_num_threads(1)
    yield
    torch.set_flush_denormal(False)


def trained(faithful: ModuleType, case: dict[str, object], seed: int, train: object) -> training.Trained:
    training.seed_generators(seed, PYTORCH)
    return train(faithful.Parameters(parity_updates=1, **case), seed)


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_a_tuned_training_plays_the_faithful_ones_episodes_and_ends_at_its_weights(
    case: str, seed: int
) -> None:
    faithful, tuned = MODULES[case.split("-", maxsplit=1)[0]]
    wanted = trained(faithful, CASES[case], seed, faithful.train)
    found = trained(faithful, CASES[case], seed, tuned.EAGER.train)
    assert [each[:2] for each in found.episodes] == [each[:2] for each in wanted.episodes]
    assert [each.value for each in found.episodes] == pytest.approx([each.value for each in wanted.episodes])
    assert found.environment_steps == wanted.environment_steps
    assert found.gradient_steps == wanted.gradient_steps > 0
    assert found.trace.keys() == wanted.trace.keys()
    assert all(torch.equal(found.trace[name], each) for name, each in wanted.trace.items())
    assert found.weights.keys() == wanted.weights.keys()
    for name, each in wanted.weights.items():
        assert torch.allclose(found.weights[name], each, rtol=0, atol=1e-4), name


# A test that is skipped fails the whole call, so there is none where there is no compiler.
if HAS_COMPILER:

    @pytest.mark.parametrize("case", ["dqn", "ppo"])
    def test_a_compiled_training_ends_at_the_same_weights_without_checks(
        case: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        faithful, tuned = MODULES[case]
        tuned.compiling(faithful.Parameters(parity_updates=1, **CASES[case]))
        found = trained(faithful, CASES[case], 1, tuned.COMPILED.train)
        monkeypatch.setattr(tuned, "unguarded", lambda training: training)
        checked = tuned.variant(tuned.CompiledLearner, tuned.compiling)
        wanted = trained(faithful, CASES[case], 1, checked.train)
        assert found.gradient_steps == wanted.gradient_steps > 0
        assert all(torch.equal(found.weights[name], each) for name, each in wanted.weights.items())


@pytest.mark.parametrize("variant", FLAGS)
@pytest.mark.parametrize("algorithm", MODULES)
def test_its_updates_are_the_faithful_ones(algorithm: str, variant: str) -> None:
    faithful, tuned = MODULES[algorithm]
    given = {name: torch.from_numpy(each) for name, each in INPUTS[algorithm]().items()}
    wanted = faithful.parity(given, 4)
    found = (tuned.COMPILED if variant == "compile" else tuned.EAGER).parity(given, 4)
    assert found.keys() == {name for name in wanted if not name.startswith("exact.")}
    for name, each in found.items():
        reference = wanted[name]
        assert (each.shape, each.dtype) == (reference.shape, reference.dtype), name
        scale = float(reference.abs().max())
        assert float((each - reference).abs().max()) <= 1e-4 * scale, name


def test_compile_chooses_the_compiled_variant_and_is_no_option_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trained_by: list[str] = []

    def variant(name: str) -> training.Variant[dqn.Parameters]:
        def train(parameters: dqn.Parameters, seed: int) -> training.Trained:
            trained_by.append(name)
            return dqn.train(parameters, seed)

        return training.Variant(train=train, parity=None, library=PYTORCH)

    algorithm = training.Algorithm(
        name="dqn-tuned",
        description=None,
        parameters=dqn.Parameters,
        by_hand=dqn.BY_HAND,
        variant=variant("eager"),
        compiled=variant("compiled"),
    )
    words = ["dqn", "--steps", "10", "--output", str(tmp_path)]
    for options in ([], ["--compile"]):
        monkeypatch.setattr("sys.argv", [*words, *options])
        training.main(algorithm, 0.0)
    assert trained_by == ["eager", "compiled"]
    with pytest.raises(SystemExit, match="2"):
        training.main(replace(algorithm, compiled=None), 0.0)
    assert "unrecognized arguments: --compile" in capsys.readouterr().err
    assert trained_by == ["eager", "compiled"]


def test_the_ring_forgets_the_oldest_and_samples_with_the_faithful_buffers_draws() -> None:
    ring, buffer = Ring(3, (1,), (1,), np.int64), ReplayBuffer(3, (1,), (1,), np.int64)
    for number in range(5):
        one = np.array([number], dtype=np.float32)
        ring.add(one, one + 1, number, float(number), terminated=number == 4)
        buffer.add(
            one[None], one[None] + 1, np.array([number]), np.array([float(number)]), np.array([number == 4])
        )
    for _ in range(2):
        np.random.seed(3)
        wanted = buffer.sample(64)
        np.random.seed(3)
        for found, each in zip(ring.sample(64), wanted, strict=True):
            assert torch.equal(found, each)
    assert ring.rows == 3
