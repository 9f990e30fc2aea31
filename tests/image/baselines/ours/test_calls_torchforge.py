"""The module's calls against the reference's. Needs the extension module: runs inside the image."""

import numpy as np
import pytest

from baselines.benchmarks import calls
from baselines.ours import calls_torchforge
from baselines.references import calls as reference

ARRAYS = list(np.random.default_rng(1).standard_normal((5, 64)))


@pytest.mark.parametrize(("does", "arrays"), [("echo", 0), ("element", 1), ("sum", 5)])
def test_they_give_the_same_bits(does: str, arrays: int) -> None:
    for index in range(64):
        ours, theirs = (
            course.calls[does](*ARRAYS[:arrays], index)
            for course in (calls_torchforge.COURSE, reference.COURSE)
        )
        assert type(ours) is (int if does == "echo" else float)
        assert ours == theirs


def test_an_array_comes_back_as_a_new_one() -> None:
    found = calls_torchforge.COURSE.calls["copy"](ARRAYS[0])
    assert found.tobytes() == ARRAYS[0].tobytes()
    assert not np.shares_memory(found, ARRAYS[0])


def test_they_do_all_that_is_asked_for() -> None:
    assert calls_torchforge.COURSE.calls.keys() == calls.LOOPS.keys()
