"""The Python module's GAE against the NumPy loop. Needs the extension module: runs inside the image."""

import numpy as np
import pytest

from baselines.inputs.gae import gae_arrays
from baselines.ours import gae_torchforge
from baselines.references import gae as gae_reference


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("length", [1, 7, 128, 2048])
def test_the_kernel_agrees_with_the_backward_loop(batch: int, length: int) -> None:
    arrays = gae_arrays(batch=batch, length=length, seed=7)
    for found, wanted in zip(
        gae_torchforge.prepare(arrays)(0.9895), gae_reference.prepare(arrays)(0.9895), strict=True
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-10)
