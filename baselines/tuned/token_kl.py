"""`token-kl` as fast as NumPy does it: each difference once, in place, and a sum that is a product of vectors.

One sequence has one axis. NumPy computes exp(x) - 1 with AVX-512 as fast as exp(x), and otherwise value by value.
"""

from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol

Floats = NDArray[Any]

# An array, which is subtracted faster than a number.
_ONE = np.array(1, np.float32)

# AVX-512 among NumPy's targets: its name before 2.4, and from 2.4 on.
_AVX512 = ("AVX512", "X86_V4")


def exact(policy: Floats, reference: Floats) -> Floats:
    """One divergence for each row of (batch, length)."""
    divergences: Floats = np.vecdot(np.exp(policy), policy - reference)
    return divergences


def exact_of_one(policy: Floats, reference: Floats) -> Any:
    """The divergence of (length,)."""
    return np.exp(policy).dot(policy - reference)


def k3(policy: Floats, reference: Floats) -> Any:
    """One estimate for each row of (batch, length), or that of (length,)."""
    difference = reference - policy
    terms = np.exp(difference)
    terms -= difference
    terms -= _ONE
    return np.add.reduce(terms, -1)


def k3_by_expm1(policy: Floats, reference: Floats) -> Any:
    """The same."""
    difference = reference - policy
    terms = np.expm1(difference)
    terms -= difference
    return np.add.reduce(terms, -1)


def expm1_is_fast() -> bool:
    """Whether this machine and this NumPy compute exp(x) - 1 of several f32 at once."""
    kinds = opt_func_info("^expm1$", "float32").get("expm1", {})
    return any(name in kind["current"] for kind in kinds.values() for name in _AVX512)


def prepare(parameters: token_kl.Parameters) -> token_kl.Call:
    """The call that is timed."""
    if parameters.k3:
        return k3_by_expm1 if expm1_is_fast() else k3
    return exact_of_one if parameters.batch == 1 else exact


COURSE = token_kl.Course(prepare=prepare, laid_out=token_kl.one_axis_of_one)


if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
