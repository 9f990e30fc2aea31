"""The rule `rms`: a file is compared on average, so that one element that rounding turned decides nothing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runner.gate.outputs import compare
from runner.matrix import OutputCheck
from runner.records.audit_differences import words
from runner.records.measured import GateCheck

RULE = OutputCheck(file="drawn.safetensors", rtol=0.0, atol=0.0, scaled=None, tensors={}, rms=5e-3)
REFERENCE = np.random.default_rng(1).standard_normal(10_000).astype(np.float32)


def check(mine: np.ndarray, theirs: np.ndarray = REFERENCE):
    (found,) = compare(RULE, {"after.weight": mine}, {"after.weight": theirs})
    return found


def test_one_element_that_rounding_turned_passes_and_a_small_change_of_all_fails() -> None:
    turned = REFERENCE.copy()
    turned[7] += 0.1
    assert check(turned).passed
    assert not check(REFERENCE * np.float32(1.006)).passed
    assert check(REFERENCE * np.float32(1.004)).passed


def test_nothing_differs_by_nothing_and_zeros_are_compared_too() -> None:
    assert check(REFERENCE).share == 0
    empty = np.zeros(0, np.float32)
    assert check(empty, empty).passed
    zeros = np.zeros_like(REFERENCE)
    assert check(zeros, zeros).passed
    against_zeros = check(REFERENCE, zeros)
    assert not against_zeros.passed
    assert against_zeros.share is None


@given(st.floats(0, 0.1))
def test_the_reader_of_a_record_understands_the_words(share: float) -> None:
    found = check(REFERENCE * np.float32(1 + share))
    kept = GateCheck(check=found.check, passed=found.passed, detail=found.detail, share=found.share)

    class Kept:
        gate = (kept,)
        work = None

    assert list(words(Kept())) == []  # type: ignore[arg-type]  # two of a record's fields
