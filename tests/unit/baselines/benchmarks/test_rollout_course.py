import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import numpy_rollout, rollout
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.inputs.env_step import write_rollout
from baselines.references import env_vector as vectors
from baselines.references import rollout as reference
from baselines.tuned import env_vector as tuned

SIZES = {"environments": 3, "steps": 30, "calls": 2, "warmup": 1, "repetitions": 2}


def serve(folder: Path, make: rollout.Make, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (folder / "in" / "case").mkdir(parents=True)
    write_rollout(SIZES, 42, folder / "in" / "case")
    words = ["--case", "case", "--parameters", json.dumps(SIZES)]
    words += ["--input", str(folder / "in"), "--output", str(folder / "out")]
    rollout.run(protocol.parser(None).parse_args(words), make)
    event: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return event


def written(folder: Path) -> dict[str, Any]:
    return {name: np.load(folder / "out" / "case" / f"{name}.npy") for name in rollout.Rollout._fields}


def test_the_rollouts_of_a_repetition_go_on_from_one_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = serve(tmp_path, reference.make, capsys)
    assert event["counts"] == {"environment_steps": 90}
    found = {name: field.reshape(60, 3, -1).squeeze() for name, field in written(tmp_path).items()}
    environments = vectors.made(3)
    seed = int(numbers(f"{1:016x}", 0, 1)[0]) % 2**31
    seen, _ = environments.reset(seed=seed)
    for step in range(60):
        assert np.array_equal(found["observations"][step], seen)
        seen, rewards, ended, _, _ = environments.step(np.zeros(3, np.int64))
        assert np.array_equal(found["rewards"][step], rewards)
        assert np.array_equal(found["dones"][step], ended)
    assert found["dones"].sum() > 3


def test_advantages_are_their_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve(tmp_path, reference.make, capsys)
    found = written(tmp_path)
    for each in range(2):
        later = np.zeros(3)
        for step in reversed(range(30)):
            # Every value is 0, and every reward 1.
            later = 1 + 0.99 * 0.95 * (1 - found["dones"][each, step]) * later
            assert found["advantages"][each, step] == pytest.approx(later, rel=1e-12)
    assert np.array_equal(found["returns"], found["advantages"])


def test_the_tuned_rollout_is_the_references(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def make(environments: int, _: int) -> numpy_rollout.Vector:
        return numpy_rollout.Vector(tuned.sync(environments), numpy_rollout.estimate_in_place)

    serve(tmp_path / "made", reference.make, capsys)
    serve(tmp_path / "tuned", make, capsys)
    wanted, found = written(tmp_path / "made"), written(tmp_path / "tuned")
    for name in ("observations", "rewards", "dones"):
        assert found[name].tobytes() == wanted[name].tobytes(), name
    for name in ("advantages", "returns"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-14)


def test_the_estimate_in_place_is_the_references_for_any_values() -> None:
    generator = np.random.default_rng(1)
    rewards, values = generator.standard_normal((2, 50, 4))
    dones = (generator.random((50, 4)) > 0.8).astype(np.float64)
    before = rewards.copy(), values.copy(), dones.copy()
    found = numpy_rollout.estimate_in_place(rewards, values, dones)
    np.testing.assert_allclose(found, reference.estimate(rewards, values, dones), rtol=1e-10, atol=1e-12)
    assert all(map(np.array_equal, before, (rewards, values, dones)))


@pytest.mark.parametrize("steps", [1, 32, 77])
def test_what_is_turned_over_is_the_transpose(steps: int) -> None:
    array = np.random.default_rng(1).standard_normal((steps, 5))
    turned = numpy_rollout.turned_over(array)
    assert turned.flags.c_contiguous
    assert np.array_equal(turned, array.T)


def test_a_rollout_of_another_shape_is_a_defect() -> None:
    sizes = rollout.Parameters(**SIZES)
    with pytest.raises(TypeError, match=r"rewards are \(2, 3, 30\) and must be \(2, 30, 3\)"):
        rollout.stacked("rewards", [np.zeros((3, 30))] * 2, sizes)


@pytest.mark.parametrize("name", ["environments", "steps", "calls"])
def test_a_rollout_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' must be at least 1"):
        rollout.Parameters(**{**SIZES, name: 0})
