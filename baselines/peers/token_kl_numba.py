"""`token-kl` by Numba 0.68.1: one loop over a sequence's tokens, with an exponential that computes several at once.

Numba's own exponential calls the C library for each token, because PyPI has no SVML for it.
By hand the exact sum of 8,192 tokens takes 5.5 µs, and 35 µs by Numba's own. The estimator k3 takes 2.0 µs, and took 20.
The exponential here is a polynomial, exact to the last bit or two of f64 and of f32.
"""

import math

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol
from baselines.peers.numba_loops import compiled

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# e^x is 2^n e^r, with a whole n and r at most half the logarithm of 2: Taylor's series of e^r, its highest power first.
_TERMS = tuple(1.0 / math.factorial(power) for power in range(12, -1, -1))
_TERMS_F32 = tuple(np.float32(1.0 / math.factorial(power)) for power in range(7, -1, -1))
_PER_LOG_2 = 1.0 / math.log(2.0)
_PER_LOG_2_F32 = np.float32(_PER_LOG_2)
# The logarithm of 2 in two parts. The first has few bits, so its multiples are exact.
_LOG_2, _REST = 6.93145751953125e-1, 1.42860682030941723212e-6
_LOG_2_F32, _REST_F32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Powers beyond these have no number of full precision.
_LOWEST = -708.0
_LOWEST_F32, _HIGHEST_F32 = np.float32(-87.0), np.float32(88.0)
_ONE = np.float32(1.0)


def _series(x: float) -> float:
    result = _TERMS[0]
    for term in _TERMS[1:]:
        result = result * x + term
    return result


def _series_f32(x: np.float32) -> np.float32:
    result = _TERMS_F32[0]
    for term in _TERMS_F32[1:]:
        result = result * x + term
    return result


series, series_f32 = compiled(_series), compiled(_series_f32)


def _exp(x: float) -> float:
    """The exponential of a number that is at most 709."""
    x = max(x, _LOWEST)
    whole = np.rint(x * _PER_LOG_2)
    # The bits of f64 that hold the exponent.
    power = np.int64((np.int64(whole) + 1023) << 52).view(np.float64)
    found: float = series((x - whole * _LOG_2) - whole * _REST) * power
    return found


def _exp_f32(x: np.float32) -> np.float32:
    x = min(max(x, _LOWEST_F32), _HIGHEST_F32)
    whole = np.rint(x * _PER_LOG_2_F32)
    power = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
    found: np.float32 = series_f32((x - whole * _LOG_2_F32) - whole * _REST_F32) * power
    return found


exp, exp_f32 = compiled(_exp), compiled(_exp_f32)


def _exact(policy: Floats, reference: Floats) -> float:
    total = 0.0
    for token in range(len(policy)):
        total += exp(policy[token]) * (policy[token] - reference[token])
    return total


def _k3(policy: Singles, reference: Singles) -> np.float32:
    total = np.float32(0.0)
    for token in range(len(policy)):
        difference = reference[token] - policy[token]
        total += exp_f32(difference) - difference - _ONE
    return total


exact = compiled(_exact, "f8(f8[::1], f8[::1])", reordered=True)
k3 = compiled(_k3, "f4(f4[::1], f4[::1])", reordered=True)


def _exact_rows(policies: Floats, references: Floats, divergences: Floats) -> None:
    for row in range(len(policies)):
        divergences[row] = exact(policies[row], references[row])


def _k3_rows(policies: Singles, references: Singles, estimates: Singles) -> None:
    for row in range(len(policies)):
        estimates[row] = k3(policies[row], references[row])


exact_rows = compiled(_exact_rows, "void(f8[:,::1], f8[:,::1], f8[::1])")
k3_rows = compiled(_k3_rows, "void(f4[:,::1], f4[:,::1], f4[::1])")


def prepare(parameters: token_kl.Parameters) -> token_kl.Call:
    """The call that is timed."""
    if parameters.batch == 1:
        return k3 if parameters.k3 else exact
    rows, kind = (k3_rows, np.float32) if parameters.k3 else (exact_rows, np.float64)
    batch, empty = parameters.batch, np.empty

    def several(policies: Floats, references: Floats) -> NDArray[np.floating]:
        found: NDArray[np.floating] = empty(batch, kind)
        rows(policies, references, found)
        return found

    return several


COURSE = token_kl.Course(prepare=prepare, laid_out=token_kl.one_axis_of_one)


if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
