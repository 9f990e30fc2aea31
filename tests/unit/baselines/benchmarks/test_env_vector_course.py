import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from baselines.benchmarks import env_vector
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.env_step import write_vector
from baselines.references import env_vector as reference
from baselines.tuned import env_vector as tuned
from runner.gate.outputs import compare
from runner.matrix import load_matrix

ROOT = Path(__file__).resolve().parents[4]
SIZES = {"environments": 3, "vector": True, "calls": 40, "warmup": 1, "repetitions": 2}
FILES = (*env_vector.Step._fields, "last_observations")


def serve(
    folder: Path, make: env_vector.Make, capsys: pytest.CaptureFixture[str], **changes: Any
) -> dict[str, Any]:
    sizes = {**SIZES, **changes}
    (folder / "in" / "case").mkdir(parents=True, exist_ok=True)
    write_vector(SIZES, 42, folder / "in" / "case")
    words = ["--case", "case", "--parameters", json.dumps(sizes)]
    words += ["--input", str(folder / "in"), "--output", str(folder / "out")]
    env_vector.run(protocol.parser(None).parse_args(words), make)
    event: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return event


def written(folder: Path) -> dict[str, Any]:
    return {name: np.load(folder / "out" / "case" / f"{name}.npy") for name in FILES}


@pytest.fixture
def kinds() -> Iterator[dict[str, VectorEnv[Any, Any, Any]]]:
    made = {name: make(3) for name, make in tuned.KINDS.items()}
    yield made
    for each in made.values():
        each.close()


def test_every_step_is_counted_and_recorded_as_gymnasium_gives_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = serve(tmp_path, reference.make, capsys)
    assert event["counts"] == {"environment_steps": 120}
    found = written(tmp_path)
    # Without a referee the seed of the process is the nonce: the first repetition's first number decides.
    environments = reference.made(3)
    environments.reset(seed=int(numbers(f"{1:016x}", 0, 1)[0]) % 2**31)
    for index in range(40):
        step = environments.step(np.zeros(3, np.int64))
        for name, wanted in zip(("observations", "rewards", "terminated", "truncated"), step, strict=False):
            assert np.array_equal(found[name][index], wanted), name
        for each in np.flatnonzero(step[2]):
            assert np.array_equal(found["final_observations"][index, each], step[4]["final_obs"][each])
    assert np.array_equal(found["last_observations"], found["observations"][-1])


def test_an_episode_begins_in_the_step_that_ended_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(tmp_path, reference.make, capsys)
    found = written(tmp_path)
    ended = found["terminated"].astype(bool)
    assert ended.sum() > 3
    assert np.abs(found["observations"][ended]).max() <= 0.05
    assert (np.abs(found["final_observations"][ended][:, 2]) > 0.2).all()
    assert not found["final_observations"][~ended].any()
    assert (found["rewards"] == 1).all()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_is_left_out_of_the_tuned_vectors_changes_no_bit(
    kind: str,
    kinds: dict[str, VectorEnv[Any, Any, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    serve(tmp_path / "made", reference.make, capsys)
    serve(tmp_path / "tuned", lambda _: reference.Vector(kinds[kind]), capsys)
    made, found = written(tmp_path / "made"), written(tmp_path / "tuned")
    for name in FILES:
        assert made[name].tobytes() == found[name].tobytes(), name


def test_the_vector_in_numpy_takes_as_many_steps(
    kinds: dict[str, VectorEnv[Any, Any, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = serve(tmp_path, lambda _: reference.Vector(kinds["vectorised"]), capsys)
    assert event["counts"] == {"environment_steps": 120}
    # It begins an episode in the step after an end, which gives no reward.
    found = written(tmp_path)
    assert np.array_equal(found["terminated"][:-1], found["rewards"][1:] == 0)


def test_the_gate_refuses_a_gravity_that_is_a_thousandth_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def heavier(count: int) -> reference.Vector:
        environments = reference.made(count)
        for each in environments.envs:
            each.unwrapped.gravity *= 1.001  # type: ignore[attr-defined]  # of CartPole
        return reference.Vector(environments)

    serve(tmp_path / "made", reference.make, capsys)
    serve(tmp_path / "heavier", heavier, capsys)
    theirs, mine = written(tmp_path / "made"), written(tmp_path / "heavier")
    matrix = load_matrix(ROOT / "matrix.yaml")
    gate = matrix.benchmarks["env-vector"].gate
    failed = {
        output.file
        for output in gate.outputs
        for check in compare(output, {"": mine[output.file[:-4]]}, {"": theirs[output.file[:-4]]})
        if not check.passed
    }
    assert {"observations.npy", "last_observations.npy"} <= failed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environments": 0}, "'environments' must be at least 1"),
        ({"vector": False}, "'vector' must be true"),
        ({"calls": 41}, "not (41, 3)"),
    ],
)
def test_sizes_that_make_no_steps_are_refused(
    changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        serve(tmp_path, reference.make, capsys, **changes)
    assert message in capsys.readouterr().err
