"""Nobody's word is taken for a result."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from runner.gate import expected_counts, judge
from runner.gate.outputs import bound_of
from runner.matrix import Gate, OutputCheck
from runner.records.failure import FailureKind
from runner.records.measured import Episode
from tests.fuzz import corpus

MATRIX = corpus.shipped()
GAE = MATRIX.benchmarks["gae"]
LOSS = OutputCheck(file="update.safetensors", rtol=0.0, atol=0.0, scaled=1e-4, tensors={"loss": 1e-5})
DQN = replace(MATRIX.benchmarks["dqn"], gate=Gate(outputs=(LOSS,), episodes="episodes.json"))
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
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine", (0.0,) * 4), gae_measurement((1e-9, 1e-9)))
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT


def test_more_time_than_the_process_lived_is_a_failed_cell(tmp_path):
    judgement = judge_gae(
        tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((0.4, 0.4)), wall_seconds=1.0
    )
    assert judgement.failure.kind is FailureKind.IMPOSSIBLE_TIME


def test_a_time_of_zero_was_not_measured(tmp_path):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((0.0, 1e-6)))
    assert judgement.failure.kind is FailureKind.IMPOSSIBLE_TIME


@pytest.mark.parametrize("seconds", [5e-324, 1e-12, 0.49e-9])
def test_a_repetition_below_a_tick_of_the_clock_was_not_measured(tmp_path, seconds):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((seconds, 1e-6)))
    assert judgement.failure.kind is FailureKind.IMPOSSIBLE_TIME
    assert len(judgement.failure.detail) < 150


def test_a_repetition_of_one_tick_may_be_divided_by_its_calls(tmp_path):
    judgement = judge_gae(tmp_path, gae_outputs(tmp_path / "mine"), gae_measurement((1e-9 / 2, 1e-6)))
    assert judgement.failure is None


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


@pytest.mark.parametrize("shape", [(2, 2), (1, 4), (4, 1)])
def test_the_right_numbers_in_another_shape_are_a_wrong_output(tmp_path, shape):
    mine = gae_outputs(tmp_path / "mine", np.reshape((1.0, 2.0, 3.0, 4.0), shape))
    judgement = judge_gae(tmp_path, mine)
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert judgement.failure.detail == f"advantages.npy has the shape {shape}, the reference (4,)"


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
    assert judgement.episodes == (Episode(step=19, length=20, total=20.0),)


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


UPDATE = OutputCheck(
    file="update.safetensors", rtol=0.0, atol=0.0, scaled=1e-4, tensors={"*loss": 1e-5}, drift=3.0
)
TRACE = OutputCheck(
    file="trace.safetensors", rtol=0.0, atol=0.0, scaled=0.0, tensors={"initial.*.bound": 0.1}
)
TRAINING = replace(DQN, gate=Gate(outputs=(UPDATE, TRACE), episodes="episodes.json"))
# Two layers after many updates: the reference's own drift is 1e-6 of the first and 4e-6 of the second.
AFTER = {"loss": 1.0, "after.0": [1.0, -0.5], "after.2": [2.0, 1.0]}
EXACT = {"exact.0": [1.0 + 1e-6, -0.5], "exact.2": [2.0 - 8e-6, 1.0]}
SCHEDULE = {"update_steps": [20, 30, 40], "initial.0.weight.bound": [0.99]}


def training_outputs(directory: Path, update: dict, trace: dict, episodes=()) -> Path:
    directory.mkdir()
    for name, arrays in (("update", update), ("trace", trace)):
        save_file({key: np.array(value) for key, value in arrays.items()}, directory / f"{name}.safetensors")
    (directory / "episodes.json").write_text(json.dumps(list(episodes)))
    return directory


def judge_training(
    tmp_path, update=AFTER, trace=SCHEDULE, theirs=AFTER | EXACT, reference_itself=False, **more
):
    mine = training_outputs(tmp_path / "mine", update, trace, more.pop("episodes", ()))
    reference = training_outputs(tmp_path / "reference", theirs, SCHEDULE)
    return judge(
        TRAINING,
        parameters=DQN_PARAMETERS | more.pop("parameters", {}),
        measurement={
            "metrics": {"training_seconds": 0.5},
            "counts": {"environment_steps": 100, "gradient_steps": 8},
        },
        wall_seconds=1.0,
        outputs=mine,
        reference=None if reference_itself else reference,
        **more,
    )


def test_updates_may_drift_as_far_as_three_times_the_references_own(tmp_path):
    # 11e-6 in the layer whose own drift is the smaller one: the largest of all decides, 3 x 4e-6.
    judgement = judge_training(tmp_path, AFTER | {"after.0": [1.0 + 11e-6, -0.5]})
    assert judgement.failure is None
    drift = next(check for check in judgement.checks if check.check == "update.safetensors after.*")
    assert drift.share == pytest.approx(11 / 12, rel=1e-3)
    assert not [check for check in judgement.checks if "exact." in check.check]


def test_a_drift_beyond_that_fails_and_says_where_and_by_how_much(tmp_path):
    judgement = judge_training(tmp_path, AFTER | {"after.0": [1.0, -0.5 - 13e-6]})
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert judgement.failure.detail == (
        "update.safetensors after.*: largest difference over largest magnitude 1.3e-05 in after.0 (bound 3 x 4e-06, "
        "by which the reference's after.2 differs from double precision)"
    )


def test_a_reference_that_does_not_drift_allows_none(tmp_path):
    theirs = AFTER | {name.replace("after", "exact"): AFTER[name] for name in AFTER if name != "loss"}
    assert judge_training(tmp_path, theirs=theirs).failure is None
    (tmp_path / "again").mkdir()
    judgement = judge_training(tmp_path / "again", AFTER | {"after.2": [2.0, 1.0 + 1e-9]}, theirs=theirs)
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT


@pytest.mark.parametrize(
    ("theirs", "lacking"),
    [
        (AFTER, "exact.0, exact.2"),
        (AFTER | EXACT | {"exact.4": [1.0]}, "after.4"),
        ({"loss": 1.0}, "after.* and exact.*"),
    ],
)
def test_a_reference_without_both_precisions_cannot_be_compared_with(tmp_path, theirs, lacking):
    judgement = judge_training(tmp_path, theirs=theirs)
    assert judgement.failure.kind is FailureKind.MISSING_OUTPUT
    assert judgement.failure.detail == f"the reference's update.safetensors lacks {lacking}"
    (tmp_path / "itself").mkdir()
    itself = judge_training(tmp_path / "itself", update=theirs, reference_itself=True)
    assert itself.failure == judgement.failure


def test_the_reference_itself_passes_with_what_it_wrote(tmp_path):
    judgement = judge_training(tmp_path, update=AFTER | EXACT, reference_itself=True)
    assert judgement.failure is None


def test_what_follows_many_updates_must_be_there_in_the_references_shape(tmp_path):
    update = {name: value for name, value in AFTER.items() if name != "after.2"}
    judgement = judge_training(tmp_path, update)
    assert judgement.failure.kind is FailureKind.MISSING_OUTPUT
    assert "after.2" in judgement.failure.detail
    (tmp_path / "again").mkdir()
    judgement = judge_training(tmp_path / "again", AFTER | {"after.2": [2.0, 1.0, 0.0]})
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert "after.2 has the shape (3,), the reference (2,)" in judgement.failure.detail


def test_a_trace_must_be_equal_but_for_what_is_drawn_at_random(tmp_path):
    assert judge_training(tmp_path, trace=SCHEDULE | {"initial.0.weight.bound": [0.95]}).failure is None
    (tmp_path / "late").mkdir()
    late = judge_training(tmp_path / "late", trace=SCHEDULE | {"update_steps": [20, 31, 41]})
    assert late.failure.detail == (
        "trace.safetensors update_steps: largest difference over largest magnitude 0.025 (bound 0); "
        "at [1] 31, the reference has 30"
    )
    (tmp_path / "often").mkdir()
    often = judge_training(tmp_path / "often", trace=SCHEDULE | {"update_steps": [20, 30, 40, 50]})
    assert "update_steps has the shape (4,), the reference (3,)" in often.failure.detail
    (tmp_path / "wide").mkdir()
    wide = judge_training(tmp_path / "wide", trace=SCHEDULE | {"initial.0.weight.bound": [1.2]})
    assert "initial.0.weight.bound" in wide.failure.detail


@pytest.mark.parametrize(
    ("name", "bound"),
    [("x", 0.5), ("a.b", 0.1), ("a.b.c", 0.2), ("a.z", 0.3), ("qf_loss", 0.05), ("[z]", 0.4), ("z", 0.4)],
)
def test_a_tensors_own_bound_goes_before_the_longest_pattern_whatever_the_order(name, bound):
    patterns = {"a.*": 0.3, "a.b*": 0.2, "a.b": 0.1, "[z]": 0.4, "*loss": 0.05, "qf*": 0.6}
    for tensors in (patterns, dict(reversed(patterns.items()))):
        output = OutputCheck(file="x", rtol=0.0, atol=0.0, scaled=0.5, tensors=tensors)
        assert bound_of(output, name) == bound


def test_other_work_is_judged_by_counts_and_episodes_alone(tmp_path):
    judgement = judge_training(tmp_path, update={"nothing": [1.0]}, same_work=False)
    assert judgement.failure is None
    assert [check.check for check in judgement.checks] == ["counts", "times", "episodes"]
    (tmp_path / "again").mkdir()
    broken = ({"step": 18, "length": 20, "return": 20.0},)
    judgement = judge_training(tmp_path / "again", same_work=False, episodes=broken)
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT


SIDE_BY_SIDE = (
    {"step": 4 * 9 + 2, "length": 10, "return": 10.0},
    {"step": 4 * 9 + 3, "length": 10, "return": 10.0},
    {"step": 4 * 14 + 2, "length": 5, "return": 5.0},
)


def test_environments_side_by_side_share_the_count_of_steps(tmp_path):
    judgement = judge_training(tmp_path, episodes=SIDE_BY_SIDE, parameters={"environments": 4})
    assert judgement.failure is None
    assert len(judgement.episodes) == 3


@pytest.mark.parametrize(
    ("episodes", "why"),
    [
        (SIDE_BY_SIDE[:1] + SIDE_BY_SIDE[2:0:-1], "episode 2 ends at step 39, before the one"),
        (
            ({"step": 4 * 9 + 2, "length": 9, "return": 9.0},),
            "episode 0 ends at step 38, its lengths add up to 34",
        ),
        (({"step": 4 * 25, "length": 26, "return": 9.0},), "they run past 100 environment steps"),
    ],
)
def test_each_environments_episodes_must_add_up(tmp_path, episodes, why):
    judgement = judge_training(tmp_path, episodes=episodes, parameters={"environments": 4})
    assert judgement.failure.kind is FailureKind.WRONG_OUTPUT
    assert why in judgement.failure.detail


def test_expected_counts_are_those_of_the_published_work():
    parameters = {"steps": 500_000, "learning_starts": 10_000, "train_frequency": 10}
    assert expected_counts(DQN, parameters) == {"environment_steps": 500_000, "gradient_steps": 48_999}
