"""rlox's post-training operations against NumPy's. Needs rlox: runs inside the image `peers`."""

import numpy as np
import pytest

from baselines.benchmarks import token_kl
from baselines.peers import grpo_rlox, token_kl_rlox
from baselines.references import grpo as grpo_reference
from baselines.references import token_kl as token_kl_reference


@pytest.mark.parametrize("calls", grpo_rlox.COURSES)
@pytest.mark.parametrize("shape", [(16, 4), (3, 32)])
def test_its_advantages_agree(calls: str, shape: tuple[int, int]) -> None:
    course = grpo_rlox.COURSES[calls]
    rewards = np.random.default_rng(1).standard_normal(shape)
    found = course.call(course.laid_out(rewards))
    np.testing.assert_allclose(found.reshape(shape), grpo_reference.advantages(rewards), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("k3", [False, True])
@pytest.mark.parametrize("batch", [1, 4])
def test_its_divergences_agree(batch: int, k3: bool) -> None:
    parameters = token_kl.Parameters(batch=batch, length=200, k3=k3, calls=1, warmup=0, repetitions=1)
    kind = np.float32 if k3 else np.float64
    pair = (-2 * np.random.default_rng(1).random((2, batch, 200))).astype(kind)
    course = token_kl_rlox.COURSE
    arguments = course.arguments(parameters, *map(course.laid_out, pair))
    found = np.asarray(course.prepare(parameters)(*arguments), kind).reshape(-1)
    wanted = token_kl_reference.COURSE.prepare(parameters)(*pair)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if k3 else 1e-12)
