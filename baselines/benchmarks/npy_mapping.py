"""NumPy's file as a plain array over a mapping of it.

`numpy.load(path, mmap_mode=...)` gives a `memmap`. That is a subclass of an array, which is dearer to open, and each view
of it is dearer too.
"""

from mmap import ACCESS_COPY, ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mapped(path: Path, *, private: bool = False) -> NDArray[Any]:
    """What NumPy's own functions say of the file, over the whole of it.

    Args:
        path: the file.
        private: whether its pages may be written to, each as a copy of its own.
    """
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        access = ACCESS_COPY if private else ACCESS_READ
        return np.ndarray(shape, dtype, mmap(file.fileno(), 0, access=access), file.tell())
