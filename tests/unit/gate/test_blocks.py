"""Outputs are compared a block at a time, and episodes are read straight into their type: neither changes a verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.gate import differences
from runner.gate.check import Check, Refused
from runner.gate.episodes import read_episodes
from runner.gate.outputs import compare
from runner.matrix import OutputCheck
from runner.records.failure import FailureKind
from runner.records.measured import Episode

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-7, -3.5, 1e300, -1e300, 1.7e308, -1.7e308, 5e-324])


def checks(block: int, output: OutputCheck, mine: list[float], theirs: list[float]) -> list[Check]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences, "_BLOCK", block)
        return compare(output, {"": np.array(mine)}, {"": np.array(theirs)})


@examples(200)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12),
    st.integers(1, 5),
    st.sampled_from([(0.0, 0.0, None), (1e-6, 1e-9, None), (0.0, 0.0, 1e-3), (0.0, 0.0, 0.0)]),
)
def test_the_size_of_a_block_changes_no_check(pairs, block, bounds):
    rtol, atol, scaled = bounds
    output = OutputCheck(file="y.npy", rtol=rtol, atol=atol, scaled=scaled, tensors={})
    mine, theirs = [one for one, _ in pairs], [other for _, other in pairs]
    assert checks(block, output, mine, theirs) == checks(100, output, mine, theirs)


def test_the_place_of_the_largest_difference_is_that_in_the_whole(tmp_path):
    output = OutputCheck(file="y.npy", rtol=0.0, atol=1e-3, scaled=None, tensors={})
    mine = [0.0] * 10
    mine[7] = 1.0
    (check,) = checks(3, output, mine, [0.0] * 10)
    assert not check.passed
    assert "at [7] 1" in check.detail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"step": 1.0, "length": 2, "return": 3}]', [Episode(step=1, length=2, total=3.0)]),
        (' [ ]\n', []),
        ('[{"step": 1, "length": 2, "return": NaN}]', FailureKind.NOT_FINITE),
        ('[{"step": 1, "length": 2, "return": -Infinity}]', FailureKind.NOT_FINITE),
        ('[{"step": 1, "length": 2, "return": 1e999}]', FailureKind.NOT_FINITE),
        ('[{"step": 1.5, "length": 2, "return": 1}]', FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": -1, "length": 2, "return": 1}]', FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": true, "length": 2, "return": 1}]', FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": 1, "length": 2, "return": "1"}]', FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": 1, "length": 2, "return": 1' + "0" * 400 + "}]", FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": 1, "length": 2, "return": 1, "more": 1}]', FailureKind.UNREADABLE_OUTPUT),
        ('[{"step": 1, "length": 2}]', FailureKind.UNREADABLE_OUTPUT),
        ('{"step": 1, "length": 2, "return": 1}', FailureKind.UNREADABLE_OUTPUT),
        ("[" * 100_000, FailureKind.UNREADABLE_OUTPUT),
        ("", FailureKind.UNREADABLE_OUTPUT),
        ("\xff", FailureKind.UNREADABLE_OUTPUT),
    ],
)  # fmt: skip
def test_episodes_are_what_a_record_can_hold_or_a_failure_that_says_why(tmp_path, text, expected):
    (tmp_path / "episodes.json").write_bytes(text.encode("latin-1"))
    if isinstance(expected, list):
        assert list(read_episodes(tmp_path / "episodes.json")) == expected
        return
    with pytest.raises(Refused) as refused:
        read_episodes(tmp_path / "episodes.json")
    assert refused.value.failure.kind is expected
