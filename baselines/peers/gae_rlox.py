"""`gae` by rlox 1.2.0, through its Python module: its f64 functions."""

import numpy as np
import rlox

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed. Its batched layout, trajectories end to end, is a view of (batch, length)."""
    if arrays.rewards.ndim == 1:
        return lambda gamma: rlox.compute_gae(*arrays, gae.LAST_VALUE, gamma, gae.LAMBDA)
    batch, length = arrays.rewards.shape
    rewards, values, dones = (array.reshape(-1) for array in arrays)
    last_values = np.full(batch, gae.LAST_VALUE)
    return lambda gamma: rlox.compute_gae_batched(
        rewards, values, dones, last_values, length, gamma, gae.LAMBDA
    )


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
