"""Read the arrays that an implementation wrote. A file with any content is either arrays or unreadable."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import deserialize, safe_open

from runner.gate.narrow_floats import NARROW_FLOATS
from runner.system.printable import one_line

Array = NDArray[Any]
LARGEST = 2**30
_LARGEST_HEADER = 2**21
# A float of 8 or 16 bits is computed with as one of 32.
_WIDENED_BYTES = 4
_LARGEST_NUMBER = 8
_LONGEST_WHY = 200


class Unreadable(ValueError):
    """The file holds no arrays of numbers; the message says why."""


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a .safetensors file, or the array of a .npy file under the empty name.

    Raises:
        Unreadable: the file is too large, damaged, of another format, or does not hold real numbers.
    """
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"it is larger than {LARGEST} bytes")
    try:
        with warnings.catch_warnings():
            # The libraries' warnings are dropped: the result of reading shows the faults of a file.
            warnings.simplefilter("ignore")
            arrays = _safetensors(path) if path.suffix == ".safetensors" else {"": _npy(path)}
    except MemoryError:
        # No word about the file: its size is bounded.
        raise
    except Exception as error:
        # Both libraries may raise any exception for a broken file.
        raise Unreadable(one_line(f"{type(error).__name__}: {error}", _LONGEST_WHY)) from error
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            kind = "complex" if array.dtype.kind == "c" else "no"
            raise Unreadable(one_line(f"{name} holds {kind} numbers ({array.dtype})", _LONGEST_WHY))
        if array.dtype.itemsize > _LARGEST_NUMBER:
            # Such a number has bytes that mean nothing, and a digest would count them.
            raise Unreadable(
                one_line(
                    f"{name} holds numbers of more than {_LARGEST_NUMBER} bytes ({array.dtype})", _LONGEST_WHY
                )
            )
        if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
            raise Unreadable(one_line(f"{name} holds truth values that are neither 0 nor 1", _LONGEST_WHY))
    return arrays


def _safetensors(path: Path) -> dict[str, Array]:
    # The header describes each tensor in a few hundred bytes, and is made into objects whole.
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") > _LARGEST_HEADER:
            raise ValueError(f"its header is larger than {_LARGEST_HEADER} bytes")
    with safe_open(path, framework="numpy") as file:
        kinds = {name: str(file.get_slice(name).get_dtype()) for name in file.keys()}  # noqa: SIM118 (no mapping)
        numbers = sum(
            math.prod(file.get_slice(name).get_shape())
            for name, kind in kinds.items()
            if kind in NARROW_FLOATS
        )
        if numbers * _WIDENED_BYTES > LARGEST:
            raise ValueError(f"it holds more than {LARGEST // _WIDENED_BYTES} numbers of 8 and 16 bits")
        arrays = {name: file.get_tensor(name) for name, kind in kinds.items() if kind not in NARROW_FLOATS}
    if len(arrays) < len(kinds):
        arrays |= {
            name: NARROW_FLOATS[tensor["dtype"]](tensor["data"]).reshape(tensor["shape"])
            for name, tensor in deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
            if tensor["dtype"] in NARROW_FLOATS
        }
    return arrays


def _npy(path: Path) -> Array:
    # A header may claim terabytes. Mapping the file allocates nothing, and fails where the file is shorter.
    np.lib.format.open_memmap(path, mode="r")
    with path.open("rb") as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array
