"""What a repetition draws from a buffer: how it begins, what it gives, and the fields joined over its calls."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Start(NamedTuple):
    """Of a repetition: the seed of each call, and the calls that its digest covers."""

    seeds: Sequence[int]
    covered: slice


class Draws(NamedTuple):
    """What each call of a repetition drew, and the calls that its digest covers."""

    calls: list[Any]
    covered: slice


def joined(draws: Sequence[Iterable[NDArray[Any]]]) -> list[NDArray[np.float32]]:
    """Each field of all draws, one after another.

    Args:
        draws: one a call, each with the same fields in the same order.

    Raises:
        TypeError: where a field has other values than float32, as a buffer that converts them would give out.
    """
    fields = [np.concatenate(field) for field in zip(*draws, strict=True)]
    if any(field.dtype != np.float32 for field in fields):
        raise TypeError(
            f"the fields that were drawn are {[str(f.dtype) for f in fields]} and must be float32"
        )
    return fields
