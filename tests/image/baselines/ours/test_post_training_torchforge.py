"""The Python module's post-training operations against NumPy's. Needs the extension module: runs inside the image."""

import numpy as np
import pytest

from baselines.benchmarks import token_kl
from baselines.ours import grpo_torchforge, token_kl_torchforge
from baselines.references import grpo as grpo_reference
from baselines.references import token_kl as token_kl_reference


@pytest.mark.parametrize("shape", [(16, 4), (3, 32), (5, 7)])
def test_its_advantages_agree(shape: tuple[int, int]) -> None:
    rewards = np.random.default_rng(1).standard_normal(shape)
    found = grpo_torchforge.COURSE.call(rewards)
    np.testing.assert_allclose(found, grpo_reference.advantages(rewards), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k3", [False, True])
@pytest.mark.parametrize("batch", [1, 4])
def test_its_divergences_agree(batch: int, k3: bool) -> None:
    parameters = token_kl.Parameters(batch=batch, length=200, k3=k3, calls=1, warmup=0, repetitions=1)
    kind = np.float32 if k3 else np.float64
    pair = (-2 * np.random.default_rng(1).random((2, batch, 200))).astype(kind)
    call = token_kl_torchforge.COURSE.prepare(parameters)
    found = np.asarray(call(*map(token_kl_torchforge.COURSE.laid_out, pair)), kind).reshape(-1)
    wanted = token_kl_reference.COURSE.prepare(parameters)(*pair)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if k3 else 1e-12)
