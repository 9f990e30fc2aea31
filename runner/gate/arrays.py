"""Reading the arrays that an implementation wrote: whatever is in such a file, it is either arrays or unreadable."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from runner.system.printable import one_line

Array = NDArray[Any]
LARGEST = 2**30
_LONGEST_WHY = 200


class Unreadable(ValueError):
    """The file holds no arrays of numbers; the message says why."""


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a .safetensors file, or that of a .npy file under the empty name.

    Raises:
        Unreadable: it is too large, damaged, of another format, or holds something else than real numbers.
    """
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"it is larger than {LARGEST} bytes")
    try:
        with warnings.catch_warnings():
            # What is odd about the file is said by what becomes of it.
            warnings.simplefilter("ignore")
            arrays = dict(load_file(path)) if path.suffix == ".safetensors" else {"": _npy(path)}
    except Exception as error:
        # Both libraries raise whatever a broken file makes them stumble over.
        raise Unreadable(one_line(f"{type(error).__name__}: {error}", _LONGEST_WHY)) from error
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise Unreadable(one_line(f"{name} holds no numbers ({array.dtype})", _LONGEST_WHY))
    return arrays


def _npy(path: Path) -> Array:
    # A header may claim terabytes: mapping the file allocates nothing, and fails where the file is not that long.
    np.lib.format.open_memmap(path, mode="r")
    with path.open("rb") as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array
