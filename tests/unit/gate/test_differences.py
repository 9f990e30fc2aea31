"""A difference of whole numbers is exact, whatever types they are stored as."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gate.differences import differences
from runner.gate.outputs import compare
from runner.matrix import OutputCheck

EXACT = OutputCheck(file="y.npy", rtol=0.0, atol=0.0, scaled=None, tensors={})
TYPES: dict[Any, tuple[int, int]] = {
    np.bool_: (0, 1),
    np.uint8: (0, 2**8 - 1),
    np.int64: (-(2**63), 2**63 - 1),
    np.uint64: (0, 2**64 - 1),
}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (np.int64(2**53 + 1), np.int64(2**53)),
        (np.int64(-(2**53) - 1), np.int64(-(2**53))),
        (np.int64(2**63 - 1), np.int64(2**63 - 2)),
        (np.uint64(2**64 - 1), np.uint64(2**64 - 2)),
        (np.uint64(2**63), np.int64(2**63 - 1)),
        (np.int64(2**53 + 1), np.float64(2**53)),
        (np.float64(2**64), np.uint64(2**64 - 1)),
        (np.float64(2**63), np.int64(2**63 - 1)),
    ],
)
def test_whole_numbers_that_one_float_stands_for_are_different_outputs(mine: Any, theirs: Any) -> None:
    array, reference = np.array([0, mine], mine.dtype), np.array([0, theirs], theirs.dtype)
    for first, second in ((array, reference), (reference, array)):
        (check,) = compare(EXACT, {"": first}, {"": second})
        assert not check.passed
        assert check.detail.startswith("largest difference 1 ")
        assert "at [1]" in check.detail


@given(st.data())
def test_a_difference_is_that_of_the_numbers_themselves(data: st.DataObject) -> None:
    first, second = (data.draw(st.sampled_from(list(TYPES))) for _ in range(2))
    x, y = (data.draw(st.integers(*TYPES[kind])) for kind in (first, second))
    (found,) = differences(np.array([x], first), np.array([y], second))
    assert found == pytest.approx(abs(x - y), rel=1e-15, abs=0)
    assert (found == 0) == (x == y)


@given(st.integers(-(2**63), 2**63 - 1), st.floats(-(2.0**66), 2.0**66))
def test_a_float_is_compared_with_a_whole_number_as_it_is(whole: int, number: float) -> None:
    (found,) = differences(np.array([whole]), np.array([number]))
    assert (found == 0) == (whole == number)
    assert found == pytest.approx(abs(whole - number), rel=1e-15, abs=0)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-1e300, 1e300))
def test_floats_differ_as_floats_do(x: float, y: float) -> None:
    (found,) = differences(np.array([x], np.float32), np.array([y]))
    assert found == abs(np.float64(x) - np.float64(y))
