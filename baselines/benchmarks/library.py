"""Whose arrays an implementation of the benchmarks of networks computes with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Library:
    """How arrays get into a library and out of it, neither of which is timed.

    Attributes:
        put: an array of NumPy's as one of its own.
        get: one of its own as NumPy's.
        gathered: several of its own, one after the other along their first axis, as one of NumPy's. Converting them one
            by one takes longer than short calls.
    """

    put: Callable[[NDArray[Any]], Any]
    get: Callable[[Any], NDArray[Any]]
    gathered: Callable[[Sequence[Any]], NDArray[Any]]

    def laid_out(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Named arrays of NumPy's as the library takes them."""
        return {name: self.put(array) for name, array in arrays.items()}

    def arrays(self, found: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Named arrays of the library as NumPy's."""
        return {name: self.get(array) for name, array in found.items()}


NUMPY = Library(put=lambda array: array, get=lambda array: array, gathered=np.concatenate)
