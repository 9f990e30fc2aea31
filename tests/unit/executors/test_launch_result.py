"""One reason for every way that a launch can end, the most telling first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.executors.base import AppliedLimits, LaunchResult
from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind
from runner.system.cpus import CpuSet

LIMITS = AppliedLimits.of(
    Limits(name="x", cpus=2, memory_bytes=512 * 2**20, pids=64, threads=1),
    cpus=CpuSet(cpus=(2, 3), siblings=None),
    enforced=("cpuset",),
)
DEADLINE = Failure(kind=FailureKind.DEADLINE, detail="killed after 5 s")
FULL = Failure(kind=FailureKind.TOO_LARGE_OUTPUT, detail="wrote 1 MiB")
MISSING = Failure(kind=FailureKind.MISSING_MEASUREMENT, detail="none")


def kind(**ending) -> str | None:
    failure = LaunchResult(limits=LIMITS, **ending).failure
    return failure and failure.kind.value


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ({"exit_code": 0}, None),
        ({"exit_code": 3}, "exit-code"),
        ({"exit_code": -11}, "signal"),
        ({"exit_code": -9, "out_of_memory": True}, "out-of-memory"),
        ({"exit_code": 1, "out_of_memory": True}, "out-of-memory"),
        # A child was killed and the whole ended well: nothing failed yet.
        ({"exit_code": 0, "out_of_memory": True}, None),
        ({"exit_code": -9, "stopped": DEADLINE}, "deadline"),
        # What ended it was the deadline; that a child had been killed before is in the record.
        ({"exit_code": -9, "stopped": DEADLINE, "out_of_memory": True}, "deadline"),
        ({"exit_code": -9, "stopped": DEADLINE, "refused": FULL}, "too-large-output"),
        ({"exit_code": 1, "refused": FULL}, "too-large-output"),
        ({"exit_code": 0, "refused": FULL}, "too-large-output"),
        ({"not_started": "no such program"}, "not-started"),
        ({}, "signal"),
    ],
)
def test_the_most_telling_reason_is_the_one(ending, expected):
    assert kind(**ending) == expected


def test_out_of_memory_explains_what_was_not_delivered_and_nothing_else():
    result = LaunchResult(limits=LIMITS, exit_code=0, out_of_memory=True)
    assert result.explain(MISSING).kind is FailureKind.OUT_OF_MEMORY
    assert "512 MiB" in result.explain(MISSING).detail
    wrong = Failure(kind=FailureKind.WRONG_OUTPUT, detail="by far")
    assert result.explain(wrong) is wrong
    assert result.explain(None) is None
    assert LaunchResult(limits=LIMITS, exit_code=0).explain(MISSING) is MISSING


@given(stderr=st.text(max_size=1000), code=st.integers(min_value=-64, max_value=255).filter(bool))
def test_whatever_was_printed_last_the_reason_is_one_short_printable_line(stderr, code):
    failure = LaunchResult(limits=LIMITS, exit_code=code, stderr=stderr).failure
    assert failure.detail.isprintable()
    assert len(failure.detail) <= 401


def test_the_limits_of_a_record_are_the_matrixs_on_the_cpus_that_were_given():
    assert (LIMITS.cpuset, LIMITS.memory_bytes, LIMITS.pids) == ("2,3", 512 * 2**20, 64)


def test_every_kind_says_what_it_means_and_what_to_do():
    for each in FailureKind:
        assert FailureKind(each.value) is each
        assert each.meaning.endswith(".")
        assert each.advice.endswith(".")
