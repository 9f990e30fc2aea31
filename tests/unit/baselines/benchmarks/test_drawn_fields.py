"""What buffers gave out is joined field by field, and no value of another type passes for float32."""

import numpy as np
import pytest

from baselines.benchmarks.drawn_fields import joined


def test_each_field_of_all_draws_follows_one_after_another():
    first = (np.float32([[1, 2]]), np.float32([5]))
    second = (np.float32([[3, 4]]), np.float32([6]))
    observations, rewards = joined([first, second])
    assert observations.tolist() == [[1, 2], [3, 4]]
    assert rewards.tolist() == [5, 6]


@pytest.mark.parametrize("other", [np.float64, np.int32])
def test_a_field_of_another_type_is_refused_by_name(other):
    with pytest.raises(TypeError, match=rf"\['float32', '{np.dtype(other)}'\] and must be float32"):
        joined([(np.float32([1]), other([1]))])


def test_draws_of_different_fields_are_refused():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        joined([(np.float32([1]), np.float32([1])), (np.float32([1]),)])
