"""`token-kl` as fast as NumPy does it: each difference once, in place, and a sum that is a product of vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol

Floats = NDArray[Any]


def exact(policy: Floats, reference: Floats) -> Floats:
    """One divergence for each row of (batch, length)."""
    divergences: Floats = np.vecdot(np.exp(policy), policy - reference)
    return divergences


def k3(policy: Floats, reference: Floats) -> Floats:
    """One estimate for each row of (batch, length)."""
    difference = reference - policy
    terms = np.exp(difference)
    terms -= difference
    terms -= 1
    sums: Floats = np.add.reduce(terms, axis=1)
    return sums


COURSE = token_kl.Course(prepare=token_kl.either(exact=exact, k3=k3))


if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
