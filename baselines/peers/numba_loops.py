"""Loops over arrays that Numba 0.68.1 compiles: for one thread, and for the processor that they run on.

A signature has a function compiled as soon as it is defined, which is before any clock starts.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numba

_CONTRACTED = {"contract"}
_REORDERED = {"contract", "reassoc"}


def compiled(
    function: Callable[..., Any], *signatures: str | Sequence[Any], reordered: bool = False
) -> Callable[..., Any]:
    """A function in machine code, whose divisions by 0 give what NumPy's give.

    Args:
        function: the loop.
        signatures: types that it is compiled for at once; without any, those of whatever it is called with.
        reordered: whether sums may be added up in another order, and so several terms at a time.
    """
    fused = _REORDERED if reordered else _CONTRACTED
    made: Callable[..., Any] = numba.njit(list(signatures) or None, error_model="numpy", fastmath=fused)(
        function
    )
    return made
