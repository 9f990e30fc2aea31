"""`gae` by the Rust kernel as a Python user gets it: the module `torchforge`, NumPy arrays in and out."""

import numpy as np
import torchforge

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed: its arrays in, freshly made arrays out."""
    if arrays.rewards.ndim == 1:
        return lambda gamma: torchforge.compute_gae(*arrays, gae.LAST_VALUE, gamma, gae.LAMBDA)
    last_values = np.full(len(arrays.rewards), gae.LAST_VALUE)
    return lambda gamma: torchforge.compute_gae_batched(*arrays, last_values, gamma, gae.LAMBDA)


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
