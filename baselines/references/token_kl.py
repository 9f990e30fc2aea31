"""The reference of `token-kl`: NumPy as anybody writes it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol

Floats = NDArray[Any]


def exact(policy: Floats, reference: Floats) -> Floats:
    """One divergence for each row of (batch, length)."""
    divergences: Floats = np.sum(np.exp(policy) * (policy - reference), axis=1)
    return divergences


def k3(policy: Floats, reference: Floats) -> Floats:
    """One estimate for each row of (batch, length)."""
    estimates: Floats = np.sum(np.exp(reference - policy) - (reference - policy) - 1, axis=1)
    return estimates


COURSE = token_kl.Course(prepare=token_kl.either(exact=exact, k3=k3))


if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
