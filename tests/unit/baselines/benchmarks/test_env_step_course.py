import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from baselines.benchmarks import env_step
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.env_step import env_step_actions
from baselines.references import env_step as reference
from baselines.tuned import env_step as tuned

SIZES = {"environments": 1, "vector": False, "calls": 60, "warmup": 1, "repetitions": 2}
VECTOR = {**SIZES, "environments": 3, "vector": True}
FILES = ("observations", "rewards", "terminated", "truncated", "last_observations")


def serve(
    output: Path, make: env_step.Make, capsys: pytest.CaptureFixture[str], *words: str, **cases: Any
) -> list[dict[str, Any]]:
    asked = [
        word for name, sizes in cases.items() for word in ("--case", name, "--parameters", json.dumps(sizes))
    ]
    env_step.run(protocol.parser(None).parse_args([*asked, "--output", str(output), *words]), make)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def load(folder: Path) -> dict[str, Any]:
    return {name: np.load(folder / f"{name}.npy") for name in FILES}


def test_every_step_is_counted_and_recorded_as_gymnasium_gives_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (event,) = serve(tmp_path, reference.make, capsys, several=VECTOR)
    assert event["counts"] == {"environment_steps": 180}
    assert len(event["metrics"]["seconds"]) == 2
    found = load(tmp_path / "several")
    environments = reference.make(env_step.Parameters(3, vector=True))
    # Without a referee the seed of the process is the nonce: the first repetition's first number decides.
    number = int(numbers(f"{1:016x}", 0, 1)[0])
    environments.reset(seed=number % 2**31)
    actions = env_step_actions(calls=60, environments=3, seed=42).astype(np.int64)
    actions = np.roll(actions, -((number >> 32) % 60), axis=0)
    for index, action in enumerate(actions):
        observations, rewards, terminated, truncated, _ = environments.step(action)
        assert np.array_equal(found["observations"][index], observations.astype(np.float64))
        assert np.array_equal(found["rewards"][index], rewards)
        assert np.array_equal(found["terminated"][index], terminated)
        assert np.array_equal(found["truncated"][index], truncated)
    assert found["terminated"].sum() > 1
    # The timed steps and the recorded ones are the same.
    assert np.array_equal(found["last_observations"], found["observations"][-1])


def test_a_single_environment_is_reset_where_its_episode_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(tmp_path, reference.make, capsys, one={**SIZES, "calls": 200})
    found = load(tmp_path / "one")
    ended = np.flatnonzero(found["terminated"][:, 0])
    assert len(ended) > 1
    # After an end the pole stands again: a fresh episode's state lies within 0.05, a step adds little.
    assert np.abs(found["observations"][ended[:-1] + 1, 0, 2]).max() < 0.1
    assert np.array_equal(found["last_observations"], found["observations"][-1])


@pytest.mark.parametrize("sizes", [SIZES, VECTOR])
def test_what_is_left_out_of_the_tuned_environments_changes_no_bit(
    sizes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(tmp_path / "made", reference.make, capsys, case=sizes)
    serve(tmp_path / "tuned", tuned.make, capsys, case=sizes)
    for name in FILES:
        made, found = ((tmp_path / way / "case" / f"{name}.npy").read_bytes() for way in ("made", "tuned"))
        assert made == found, name


def test_the_tuned_vector_hands_out_no_copy() -> None:
    environments = tuned.make(env_step.Parameters(2, vector=True))
    assert isinstance(environments, SyncVectorEnv)
    environments.reset(seed=1)
    action = np.zeros(2, dtype=np.int64)
    assert environments.step(action)[0] is environments.step(action)[0]


def test_the_vector_in_numpy_takes_as_many_steps_and_refuses_a_single_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (event,) = serve(tmp_path, tuned.make_vectorised, capsys, several=VECTOR)
    assert event["counts"] == {"environment_steps": 180}
    with pytest.raises(SystemExit, match="2"):
        tuned.make_vectorised(env_step.Parameters(1, vector=False))


def test_the_actions_are_those_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in" / "one"
    folder.mkdir(parents=True)
    np.save(folder / "actions.npy", np.ones((60, 1)))
    serve(tmp_path / "ones", reference.make, capsys, "--input", str(tmp_path / "in"), one=SIZES)
    # Pushed to the right only, the cart moves there.
    assert (np.diff(load(tmp_path / "ones" / "one")["observations"][:5, 0, 1]) > 0).all()
    np.save(folder / "actions.npy", np.ones((59, 1)))
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path / "short", reference.make, capsys, "--input", str(tmp_path / "in"), one=SIZES)
    assert "not (60, 1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environments": 0}, "'environments' must be at least 1"),
        ({"environments": 2}, "without 'vector' there is one environment"),
        ({"calls": 0}, "'calls' must be at least 1"),
    ],
)
def test_sizes_that_make_no_steps_are_refused(
    changes: dict[str, int], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path, reference.make, capsys, one={**SIZES, **changes})
    assert message in capsys.readouterr().err
