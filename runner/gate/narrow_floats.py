"""Floats of 8 and 16 bits without a NumPy type. Each is exactly a float32, so no value is rounded."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

_E4M3_MANTISSA_BITS, _E4M3_BIAS, _E4M3_NAN = 3, 7, 0x7F


def _bfloat16(data: bytes | bytearray) -> NDArray[np.float32]:
    """A bfloat16 is the upper half of a float32."""
    return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")


def _e5m2(data: bytes | bytearray) -> NDArray[np.float32]:
    """An E5M2 is the upper half of a float16."""
    return (np.frombuffer(data, "u1").astype("<u2") << 8).view("<f2").astype("<f4")


def _e4m3(data: bytes | bytearray) -> NDArray[np.float32]:
    """An E4M3 has no infinity and one NaN of each sign (Micikevicius et al., 2022)."""
    codes = np.arange(256)
    magnitudes = codes & 0x7F
    exponents, fractions = magnitudes >> _E4M3_MANTISSA_BITS, magnitudes & 0b111
    # A number with exponent 0 has no leading one, and is scaled as with exponent 1.
    significands = fractions + np.where(exponents > 0, 1 << _E4M3_MANTISSA_BITS, 0)
    values = np.ldexp(
        significands.astype(np.float32), np.maximum(exponents, 1) - _E4M3_BIAS - _E4M3_MANTISSA_BITS
    )
    values[magnitudes == _E4M3_NAN] = np.nan
    # The sign is the top bit.
    signed: NDArray[np.float32] = np.where(codes < 0x80, values, -values).astype("<f4")  # noqa: PLR2004
    return signed.take(np.frombuffer(data, "u1"))


# The keys are the names in a .safetensors file.
NARROW_FLOATS: Mapping[str, Callable[[bytes | bytearray], NDArray[np.float32]]] = {
    "BF16": _bfloat16,
    "F8_E5M2": _e5m2,
    "F8_E4M3": _e4m3,
}
