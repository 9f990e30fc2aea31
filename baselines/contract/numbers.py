"""The numbers that a nonce stands for, and the digest of what was computed from them (docs/protocol.md)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_WORD_BYTES = 8
# Below this many bytes an array is summed faster together with others than alone.
_SMALL_BYTES = 2**16

Numbers = NDArray[np.uint64]


def numbers(nonce: str, first: int, count: int) -> Numbers:
    """The numbers below 2**64 of calls from the first on: SplitMix64 (Steele et al., 2014) begun at the nonce."""
    index = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    value = np.uint64(int(nonce, 16)) + index * _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return np.asarray(value ^ (value >> np.uint64(31)))


def digest(arrays: Sequence[NDArray[Any]]) -> str:
    """The sum, modulo 2**64, of the 64-bit words of all arrays' bytes, as 16 hexadecimal digits.

    Args:
        arrays: in any shape and type. Zeros fill the last word of each.
    """
    parts = [np.concatenate(arrays, axis=None)] if _are_faster_together(arrays) else arrays
    return f"{sum(map(_words, parts)) % 2**64:016x}"


def _are_faster_together(arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether they are small, and no array's last word would hold the first bytes of the next."""
    small = len(arrays) > 1 and sum(array.nbytes for array in arrays) < _SMALL_BYTES * len(arrays)
    return (
        small
        and len({array.dtype for array in arrays}) == 1
        and all(array.nbytes % _WORD_BYTES == 0 for array in arrays)
    )


def _words(array: NDArray[Any]) -> int:
    data = np.ascontiguousarray(array).reshape(-1)
    if data.nbytes % _WORD_BYTES:
        filled = data.tobytes().ljust(-(-data.nbytes // _WORD_BYTES) * _WORD_BYTES, b"\0")
        return int(np.frombuffer(filled, np.uint64).sum())
    return int(data.view(np.uint64).sum())
