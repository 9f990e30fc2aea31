"""A training's log, stepped again, against what the training tells: whatever was rewritten shows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.executors.base import Examination
from runner.gate.hearing import Examined, Hearing
from runner.gate.replay import Expected, check_drawn, check_replay
from runner.gate.replays import Replays, judge_replays
from runner.records.measured import Episode
from runner.referee.sizes import Plan
from tests.fuzz import corpus
from tests.unit.referee.test_dialogue import Process, dialogue

TOLD = (Episode(step=19, length=20, total=20.0), Episode(step=49, length=30, total=30.0))
EXPECTED = Expected(steps=60, environments=1, seed=3)


def answer(**changes: Any) -> Examination:
    found = {
        "steps": 60,
        "seeds": [[[0, 3]]],
        "episodes": [[each.step, each.length, each.total] for each in TOLD],
        "greedy": [500.0, 400.0],
    }
    return Examination(exit_code=0, stdout=json.dumps(found | changes) + "\n")


def judged(examination: Examination, told: Sequence[Episode] = TOLD, expected: Expected = EXPECTED):
    return check_replay("replay", examination, told, expected, weights_seed=9)


def test_a_log_that_gives_what_is_told_passes_and_its_weights_are_summarised() -> None:
    check, weights = judged(answer())
    assert check.passed
    assert check.detail == (
        "60 environment steps made again: 2 episodes, all as told; final weights earn 450 ± 70.7"
    )
    assert weights is not None
    assert (weights.episodes, weights.seed, weights.mean) == (2, 9, 450.0)


def test_without_weights_nothing_is_said_of_them() -> None:
    check, weights = judged(answer(greedy=None))
    assert (check.detail, weights) == ("60 environment steps made again: 2 episodes, all as told", None)


LIES = {
    "a return": (TOLD[0], Episode(step=49, length=30, total=500.0)),
    "a length": (TOLD[0], Episode(step=48, length=29, total=30.0)),
    "one more": (*TOLD, Episode(step=55, length=6, total=6.0)),
    "one less": TOLD[:1],
}


@pytest.mark.parametrize("told", LIES.values(), ids=LIES)
def test_a_training_that_tells_of_other_episodes_fails(told: tuple[Episode, ...]) -> None:
    check, weights = judged(answer(), told)
    assert not check.passed
    assert weights is None


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"steps": 59}, "the log has 59 environment steps, and there are 60"),
        ({"seeds": [[[0, 4]]]}, "environment 0 has the seeds 4 before step 0, and it gets 3 at first"),
        ({"seeds": [[[0, 3], [20, 3]]]}, "environment 0 has the seeds 3 before step 0, 3 before step 20"),
        ({"seeds": [[]]}, "environment 0 has the seeds none, and it gets 3 at first"),
        ({"seeds": []}, "the log is of 0 environments, and there are 1"),
    ],
)
def test_a_log_of_other_work_fails(changes: dict[str, Any], detail: str) -> None:
    check, _ = judged(answer(**changes))
    assert not check.passed
    assert detail in check.detail


def test_a_library_that_draws_its_own_seeds_may_have_any() -> None:
    expected = Expected(steps=60, environments=1, seed=None)
    assert judged(answer(seeds=[[[0, 123]]]), expected=expected)[0].passed


def test_rewards_may_be_added_in_single_precision() -> None:
    assert judged(answer(), (TOLD[0], Episode(step=49, length=30, total=30.0002)))[0].passed
    assert not judged(answer(), (TOLD[0], Episode(step=49, length=30, total=30.001)))[0].passed


@pytest.mark.parametrize(
    ("examination", "detail"),
    [
        (Examination(exit_code=1, stderr="x\ntorchforge: step 3 lies outside\n"), "step 3 lies outside"),
        (Examination(exit_code=137), "ended without a word"),
        (Examination(exit_code=0, stdout="[]"), "not understood"),
        (Examination(exit_code=0, stdout=""), "not understood"),
    ],
)
def test_a_log_that_cannot_be_replayed_fails(examination: Examination, detail: str) -> None:
    check, weights = judged(examination)
    assert not check.passed
    assert detail in check.detail
    assert weights is None


def drawn(*episodes: tuple[int, int, float], code: int = 0) -> Examination:
    return Examination(exit_code=code, stdout=json.dumps({"episodes": episodes}), stderr="it broke")


def test_drawn_episodes_are_as_told_in_gymnasium_too() -> None:
    assert check_drawn(drawn((49, 30, 30.0)), TOLD).passed
    for wrong in ((49, 30, 31.0), (49, 29, 30.0), (48, 30, 30.0)):
        assert not check_drawn(drawn(wrong), TOLD).passed
    assert check_drawn(drawn(code=1), TOLD).detail == "it broke"
    assert not check_drawn(Examination(exit_code=0, stdout="?"), TOLD).passed


def test_a_library_with_environments_of_its_own_is_not_replayed(tmp_path: Path) -> None:
    found = replays(tmp_path, same_work=False)
    assert (found.checks, found.final_weights) == ((), None)
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "actions.safetensors").write_bytes(b"")
    assert [each.check for each in replays(tmp_path, same_work=False).checks] == ["replay"]


def test_the_same_work_without_a_log_fails(tmp_path: Path) -> None:
    (check,) = replays(tmp_path, same_work=True).checks
    assert not check.passed


def replays(outputs: Path, *, same_work: bool) -> Replays:
    process = Process()
    listener = dialogue("a", plan=Plan(training=True), seed=3)
    process.lead(listener)
    failed = Examination(exit_code=1, stderr="no such file")
    hearing = Hearing(
        refereed=listener.seen["a"],
        channel_seconds=0.0,
        between_seconds=None,
        seed=3,
        examined=Examined(replay=failed, weights_seed=9, audit=None, gymnasium=None),
    )
    return judge_replays(
        corpus.shipped().benchmarks["dqn"],
        parameters={"steps": 60},
        outputs=outputs,
        episodes=TOLD,
        same_work=same_work,
        hearing=hearing,
    )
