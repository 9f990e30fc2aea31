"""`gae` by the Rust kernel as a Python user gets it: the module `torchforge`, NumPy arrays in and out."""

import numpy as np
import torchforge

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays


def prepare(arrays: GaeArrays) -> gae.Call:
    """The call that is timed: its arrays in, freshly made arrays out."""
    # Each argument by its name: to unpack a tuple of them takes a tenth of a short call.
    rewards, values, dones = arrays
    lam = gae.LAMBDA
    if rewards.ndim == 1:
        one, last_value = torchforge.compute_gae, gae.LAST_VALUE
        return lambda gamma: one(rewards, values, dones, last_value, gamma, lam)
    several, last_values = torchforge.compute_gae_batched, np.full(len(rewards), gae.LAST_VALUE)
    return lambda gamma: several(rewards, values, dones, last_values, gamma, lam)


if __name__ == "__main__":
    gae.run(protocol.parser(__doc__).parse_args(), prepare)
