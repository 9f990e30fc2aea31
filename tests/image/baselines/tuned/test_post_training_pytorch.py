"""PyTorch's post-training operations against NumPy's. Needs PyTorch: runs inside the image."""

import numpy as np
import pytest
import torch

from baselines.benchmarks import token_kl
from baselines.references import grpo as grpo_reference
from baselines.references import grpo_trl, token_kl_trl
from baselines.references import token_kl as token_kl_reference
from baselines.tuned import grpo_pytorch, token_kl_pytorch


@pytest.mark.parametrize("course", [grpo_trl.COURSE, grpo_pytorch.COURSE])
def test_its_advantages_agree_and_its_rewards_stay(course: grpo_trl.grpo.Course) -> None:
    rewards = np.random.default_rng(1).standard_normal((16, 8))
    given = torch.from_numpy(rewards.copy())
    found = course.call(given).reshape(16, 8)
    np.testing.assert_allclose(found, grpo_reference.advantages(rewards), rtol=1e-9, atol=1e-9)
    assert np.array_equal(given, rewards)


@pytest.mark.parametrize("course", [token_kl_trl.COURSE, token_kl_pytorch.COURSE])
@pytest.mark.parametrize("k3", [False, True])
@pytest.mark.parametrize("batch", [1, 4])
def test_its_divergences_agree(course: token_kl.Course, batch: int, k3: bool) -> None:
    parameters = token_kl.Parameters(batch=batch, length=200, k3=k3, calls=2, warmup=0, repetitions=1)
    kind = np.float32 if k3 else np.float64
    pair = (-2 * np.random.default_rng(1).random((2, batch, 200))).astype(kind)
    call = course.prepare(parameters)
    found = course.gathered([call(*map(course.laid_out, each)) for each in (pair, pair[::-1])])
    reference = token_kl_reference.COURSE.prepare(parameters)
    wanted = [reference(*each) for each in (pair, pair[::-1])]
    assert found.dtype == kind
    np.testing.assert_allclose(found.reshape(2, batch), wanted, rtol=1e-5 if k3 else 1e-12)
