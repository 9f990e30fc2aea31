"""The differences of two arrays, element by element, without rounding whole numbers to floats first."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from runner.gate.arrays import Array

_WHOLE_KINDS = "iub"
# The lowest 64 bits give the exact difference of two whole numbers that are nearer to each other than this.
_NEAR = 2.0**62
_BLOCK = 2**18


def blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """As many numbers of each array at a time, in one dimension: what is computed of them takes little memory then."""
    flat = [array.ravel() for array in arrays]
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple(each[start : start + _BLOCK] for each in flat)


def as_floats(array: Array) -> Array:
    """The array in one dimension, in double precision or in its own wider precision."""
    return array.astype(np.result_type(array, np.float64)).ravel()


def differences(array: Array, reference: Array) -> Array:
    """The magnitude of each difference, in one dimension; above 0 wherever two numbers differ at all."""
    apart: Array = np.abs(as_floats(array) - as_floats(reference))
    if array.dtype.kind not in _WHOLE_KINDS and reference.dtype.kind not in _WHOLE_KINDS:
        return apart
    mine, theirs = _lowest_bits(array.ravel()), _lowest_bits(reference.ravel())
    exact = np.minimum(mine - theirs, theirs - mine).astype(np.float64)
    return np.where((apart < _NEAR) & _are_whole(array) & _are_whole(reference), exact, apart)


def _lowest_bits(flat: Array) -> NDArray[np.uint64]:
    """Each number modulo 2**64, with any fraction cut off."""
    if flat.dtype.kind in _WHOLE_KINDS:
        return flat.astype(np.uint64)
    magnitudes = np.fmod(np.abs(as_floats(flat)), 2.0**64).astype(np.uint64)
    return np.where(flat < 0, np.uint64(0) - magnitudes, magnitudes)


def _are_whole(array: Array) -> NDArray[np.bool_]:
    flat = array.ravel()
    return np.ones(flat.shape, np.bool_) if flat.dtype.kind in _WHOLE_KINDS else np.trunc(flat) == flat
