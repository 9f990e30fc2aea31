"""The peers' GAE against the NumPy loop. Needs TorchRL, rlox, Numba and JAX: runs inside the image `peers`."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from baselines.benchmarks import gae
from baselines.inputs.gae import gae_arrays
from baselines.peers import gae_jax, gae_numba, gae_rlox, gae_torchrl
from baselines.references import gae as gae_reference

PEERS: dict[str, gae.Prepare] = {
    "jax": gae_jax.prepare,
    "numba": gae_numba.prepare,
    "rlox": gae_rlox.prepare,
    "torchrl": gae_torchrl.preparation("loop"),
    "torchrl-vec": gae_torchrl.preparation("vectorised"),
}


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("prepare", PEERS.values(), ids=PEERS)
@pytest.mark.parametrize("batch", [1, 6, 8, 24])
@pytest.mark.parametrize("length", [2, 7, 128, 2048])
def test_the_peer_agrees_with_the_backward_loop(
    prepare: Callable[..., gae.Call], batch: int, length: int
) -> None:
    arrays = gae_arrays(batch=batch, length=length, seed=7)
    for output, wanted in zip(prepare(arrays)(0.9895), gae_reference.prepare(arrays)(0.9895), strict=True):
        found = np.asarray(output)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-6, atol=1e-10)
