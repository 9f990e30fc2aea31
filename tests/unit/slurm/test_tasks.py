"""What squeue prints becomes states, and a state without an answer one of a few typed ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.slurm.tasks import JobEnd, TaskState, read_tasks

# As Slurm 22.05 printed it, in the format of this module.
PRINTED = """\
21|0|RUNNING|None|forge-bench-20261126T112541Z-f072d1b0-1
22|1|COMPLETED|None|forge-bench-20261126T112541Z-f072d1b0-1
23|2|PENDING|BeginTime|forge-bench-20261126T112541Z-f072d1b0-1
1|N/A|CANCELLED|None|a name|with a bar
"""


def test_tasks_have_numbers_of_their_own_and_of_their_array():
    found = list(read_tasks(PRINTED))
    assert found[2] == TaskState(
        job="23", number=2, word="PENDING", reason="BeginTime", name="forge-bench-20261126T112541Z-f072d1b0-1"
    )
    assert [each.number for each in found] == [0, 1, 2, None]
    assert found[3].name == "a name|with a bar"


def test_only_a_running_or_waiting_task_may_still_answer():
    assert [(each.runs, each.goes_on) for each in read_tasks(PRINTED)] == [
        (True, True),
        (False, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("word", "end"),
    [
        ("TIMEOUT", JobEnd.TIMEOUT),
        ("DEADLINE", JobEnd.TIMEOUT),
        ("OUT_OF_MEMORY", JobEnd.OUT_OF_MEMORY),
        ("NODE_FAIL", JobEnd.NODE_FAIL),
        ("BOOT_FAIL", JobEnd.NODE_FAIL),
        ("PREEMPTED", JobEnd.PREEMPTED),
        ("CANCELLED", JobEnd.CANCELLED),
        ("FAILED", JobEnd.FAILED),
        ("a state of a later Slurm", JobEnd.FAILED),
        (None, JobEnd.UNKNOWN),
    ],
)
def test_each_end_without_an_answer_has_a_kind_with_a_meaning_and_an_advice(word, end):
    assert JobEnd.of(word) is end
    assert end.meaning
    assert end.advice


@given(st.text())
@examples(100)
def test_no_text_makes_the_reader_fail(text):
    assert all(isinstance(each, TaskState) for each in read_tasks(text))
