"""The fields of what a buffer gave out, joined over the calls of a repetition."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
