"""Nobody's word is taken for a result."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from runner.failure import FailureKind
from runner.gate import expected_counts, judge
from runner.matrix import load_matrix

MATRIX = load_matrix(Path(__file__).parents[2] / "matrix.yaml")
GAE, DQN = MATRIX.benchmarks["gae"], MATRIX.benchmarks["dqn"]
GAE_PARAMETERS = {"batch": 1, "length": 4, "calls": 2, "warmup": 0, "repetitions": 2}
DQN_PARAMETERS = {"environment": "CartPole-v1", "learning_starts": 10, "train_frequency": 10, "steps": 100}


def gae_outputs(directory: Path, advantages=(1.0, 2.0, 3.0, 4.0), returns=(5.0, 6.0, 7.0, 8.0)) -> Path:
    directory.mkdir()
    np.save(directory / "advantages.npy", np.array(advantages))
    np.save(directory / "returns.npy", np.array(returns))
    return directory


def gae_measurement(seconds=(1e-6, 1e-6), elements=4):
    return {"metrics": {"seconds": list(seconds)}, "counts": {"elements": elements}}


def judge_gae(tmp_path, outputs, measurement=None, wall_seconds=1.0):
    reference = gae_outputs(tmp_path / "reference")
    return judge(
        GAE,
        parameters=GAE_PARAMETERS,
        measurement=measurement or gae_measurement(),
        wall_seconds=wall_seconds,
        outputs=outputs,
        reference=reference,
    )


def test_equal_outputs_right_counts_and_possible_times_pass(tmp_path):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"))
    assert judgement.failure is None
    assert [check.check for check in judgement.checks] == ["counts", "times", "advantages.npy", "returns.npy"]


def test_a_difference_within_the_stated_tolerance_passes_and_one_beyond_it_fails(tmp_path):
    assert judge_gae(tmp_path, gae_outputs(tmp_path / "near", (1.0 + 9e-7, 2.0, 3.0, 4.0))).failure is None
    (tmp_path / "again").mkdir()
    judgement = judge_gae(tmp_path / "again", gae_outputs(tmp_path / "far", (1.0 + 2e-6, 2.0, 3.0, 4.0)))
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert "advantages.npy" in judgement.failure.detail


def test_a_wonderful_time_beside_wrong_outputs_is_a_failed_cell(tmp_path):
    judgement = judge_gae(
        tmp_path, gae_outputs(tmp_path / "mine", (0.0,) * 4), gae_measurement((1e-12, 1e-12))
    )
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT


def test_more_time_than_the_process_lived_is_a_failed_cell(tmp_path):
    judgement = judge_gae(
        tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((0.4, 0.4)), wall_seconds=1.0
    )
    assert judgement.failure.kind is FailureKind.IMPOSSIBLE_TIME


def test_a_time_of_zero_was_not_measured(tmp_path):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((0.0, 1e-6)))
    assert judgement.failure.kind is FailureKind.IMPOSSIBLE_TIME


@pytest.mark.parametrize("elements", [0, 3, 5])
def test_other_counts_than_the_runner_works_out_fail(tmp_path, elements):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement(elements=elements))
    assert judgement.failure.kind is FailureKind.WRONG_COUNTS


def test_a_missing_headline_metric_fails(tmp_path):
    measurement = {"metrics": {"speed": 1.0}, "counts": {"elements": 4}}
    assert (
        judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), measurement).failure.kind
        is FailureKind.MISSING_METRIC
    )


def test_missing_nan_misshapen_and_unreadable_outputs_each_fail_by_their_own_reason(tmp_path):
    missing = gae_outputs(tmp_path / "missing")
    (missing / "returns.npy").unlink()
    nan = gae_outputs(tmp_path / "nan", (1.0, float("nan"), 3.0, 4.0))
    shape = gae_outputs(tmp_path / "shape", (1.0, 2.0, 3.0))
    rubbish = gae_outputs(tmp_path / "rubbish")
    (rubbish / "returns.npy").write_bytes(b"rubbish")
    pickled = gae_outputs(tmp_path / "pickled")
    np.save(pickled / "returns.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    linked = gae_outputs(tmp_path / "linked")
    (linked / "returns.npy").unlink()
    (linked / "returns.npy").symlink_to(tmp_path / "missing" / "advantages.npy")
    expected = {
        missing: FailureKind.MISSING_OUTPUT,
        nan: FailureKind.NOT_FINITE,
        shape: FailureKind.WRONG_OUTPUT,
        rubbish: FailureKind.UNREADABLE_OUTPUT,
        pickled: FailureKind.UNREADABLE_OUTPUT,
        linked: FailureKind.MISSING_OUTPUT,
    }
    for index, (outputs, kind) in enumerate(expected.items()):
        (tmp_path / str(index)).mkdir()
        assert judge_gae(tmp_path / str(index), outputs).failure.kind is kind, outputs.name


@pytest.mark.filterwarnings("error")
def test_numbers_further_apart_than_any_number_are_wrong_and_no_warning(tmp_path):
    huge = gae_outputs(tmp_path / "mine", (1.7e308, -1.7e308, 3.0, 4.0))
    assert judge_gae(tmp_path, huge).failure.kind is FailureKind.WRONG_OUTPUT
    (tmp_path / "again").mkdir()
    reference = gae_outputs(tmp_path / "huge", (-1.7e308, 1.7e308, 3.0, 4.0))
    judgement = judge(
        GAE,
        parameters=GAE_PARAMETERS,
        measurement=gae_measurement(),
        wall_seconds=1.0,
        outputs=huge,
        reference=reference,
    )
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert next(each for each in judgement.checks if each.check == "advantages.npy").share is None


def dqn_outputs(
    directory: Path, loss=1.0, gradient=1.0, episodes=({"step": 19, "length": 20, "return": 20.0},)
) -> Path:
    directory.mkdir()
    save_file(
        {"loss": np.array([loss], np.float32), "gradient.0.weight": np.array([gradient, 0.0], np.float32)},
        directory / "update.safetensors",
    )
    (directory / "episodes.json").write_text(json.dumps(list(episodes)))
    return directory


def judge_dqn(tmp_path, outputs):
    return judge(
        DQN,
        parameters=DQN_PARAMETERS,
        measurement={
            "metrics": {"training_seconds": 0.5},
            "counts": {"environment_steps": 100, "gradient_steps": 8},
        },
        wall_seconds=1.0,
        outputs=outputs,
        reference=dqn_outputs(tmp_path / "reference"),
    )


def test_a_training_passes_with_the_same_update_and_keeps_every_episode(tmp_path):
    judgement = judge_dqn(tmp_path, dqn_outputs(tmp_path / "mine"))
    assert judgement.failure is None
    assert judgement.episodes == ({"step": 19, "length": 20, "return": 20.0},)


@pytest.mark.parametrize("change", [{"loss": 1.0 + 3e-5}, {"gradient": 1.0 + 3e-4}])
def test_loss_and_gradients_have_bounds_of_their_own(tmp_path, change):
    judgement = judge_dqn(tmp_path, dqn_outputs(tmp_path / "mine", **change))
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT


@pytest.mark.parametrize(
    "episodes",
    [
        ({"step": 18, "length": 20, "return": 20.0},),
        ({"step": 19, "length": 20, "return": 20.0}, {"step": 45, "length": 20, "return": 1.0}),
        ({"step": 119, "length": 120, "return": 120.0},),
    ],
)
def test_episodes_that_do_not_add_up_fail_and_are_not_kept(tmp_path, episodes):
    judgement = judge_dqn(tmp_path, dqn_outputs(tmp_path / "mine", episodes=episodes))
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert judgement.episodes is None


def test_expected_counts_are_those_of_the_published_work():
    parameters = {"steps": 500_000, "learning_starts": 10_000, "train_frequency": 10}
    assert expected_counts(DQN, parameters) == {"environment_steps": 500_000, "gradient_steps": 48_999}
