"""The reference of `calls`: functions of Python that read NumPy's arrays as anybody does."""

from typing import Any

from baselines.benchmarks import calls
from baselines.benchmarks.calls import Array
from baselines.contract import protocol


def echo(value: int) -> int:
    """The value."""
    return value


def element(array: Array, index: int) -> Any:
    """The array's value at an index."""
    return array[index]


def total(first: Array, second: Array, third: Array, fourth: Array, fifth: Array, index: int) -> Any:
    """The sum of five arrays' values at an index."""
    return first[index] + second[index] + third[index] + fourth[index] + fifth[index]


def copy(array: Array) -> Array:
    """A new array with the same values."""
    return array.copy()


COURSE = calls.Course(calls={"echo": echo, "element": element, "sum": total, "copy": copy})

if __name__ == "__main__":
    calls.run(protocol.parser(__doc__).parse_args(), COURSE)
