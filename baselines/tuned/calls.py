"""`calls` as fast as Python and NumPy do it: their own functions in C where one does the same, and Python's floats.

No function of either takes five arrays and reads one value of each. That case is a function of Python here too.
"""

import operator
from typing import Any

import numpy as np

from baselines.benchmarks import calls
from baselines.benchmarks.calls import Array
from baselines.contract import protocol


def total(first: Array, second: Array, third: Array, fourth: Array, fifth: Array, index: int) -> Any:
    """The sum of five arrays' values at an index, without NumPy's scalars."""
    return first.item(index) + second.item(index) + third.item(index) + fourth.item(index) + fifth.item(index)


COURSE = calls.Course(
    calls={"echo": operator.index, "element": np.ndarray.item, "sum": total, "copy": np.ndarray.copy}
)

if __name__ == "__main__":
    calls.run(protocol.parser(__doc__).parse_args(), COURSE)
