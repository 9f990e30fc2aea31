"""The module's vectors and rollouts beside Gymnasium's. Needs the module: runs inside the image."""

from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import env_step, env_vector
from baselines.ours import env_step_torchforge, env_vector_torchforge, rollout_torchforge
from baselines.references import env_step as env_step_reference
from baselines.references import env_vector as reference
from baselines.references import rollout as rollout_reference

ZEROS = np.zeros((60, 3), np.int64)


@pytest.mark.parametrize("kind", env_vector_torchforge.KINDS)
def test_every_step_of_a_vector_is_gymnasiums(kind: str) -> None:
    ours = reference.Vector(env_vector_torchforge.KINDS[kind](3))
    start = env_vector.Start(7, list(ZEROS))
    found, wanted = env_vector.recorded(ours, start), env_vector.recorded(reference.make(3), start)
    assert wanted.terminated.any()
    for field, mine, theirs in zip(wanted._fields, found, wanted, strict=True):
        assert mine.tobytes() == theirs.tobytes(), field


def test_every_step_of_the_registered_environment_is_gymnasiums() -> None:
    sizes = env_step.Case(environments=1, vector=False, calls=300, warmup=0, repetitions=1)
    parameters, start = env_step.Parameters(1, vector=False), env_step.Start(7, [1] * 300)
    ours = env_step.recorded(env_step_torchforge.make_registered(parameters), start, sizes)
    theirs = env_step.recorded(env_step_reference.make(parameters), start, sizes)
    for name, wanted in theirs.items():
        assert ours[name].tobytes() == wanted.tobytes(), name


@pytest.mark.parametrize("kind", rollout_torchforge.KINDS)
def test_its_rollouts_are_the_references(kind: str) -> None:
    vectors: list[Any] = [rollout_torchforge.KINDS[kind](3), rollout_reference.make(3, 60)]
    gathered = []
    for vector in vectors:
        vector.reset(7)
        collected = [vector.collect(vector.laid_out(ZEROS)) for _ in range(2)]
        gathered.append([vector.gathered(each) for each in collected])
    for found, wanted in zip(*gathered, strict=True):
        for field in ("observations", "rewards", "dones"):
            assert np.array_equal(getattr(found, field), getattr(wanted, field)), field
        np.testing.assert_allclose(found.advantages, wanted.advantages, rtol=1e-12)
        np.testing.assert_allclose(found.returns, wanted.returns, rtol=1e-12)
