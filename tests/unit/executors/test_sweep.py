"""Which containers and volumes are abandoned, by their labels and their age."""

import subprocess
import sys

import pytest

from runner.executors.sweep import DEADLINE_LABEL, OWNER_LABEL, is_abandoned, owner_labels
from runner.system.owner import Owner

ELSEWHERE = Owner("0" * 12, "1", 1, "1")


@pytest.fixture(scope="module")
def dead() -> Owner:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    owner = Owner.of(child.pid)
    child.communicate()
    return owner


def labels(owner: object, deadline: str = "100") -> dict[str, str]:
    return {OWNER_LABEL: str(owner), DEADLINE_LABEL: deadline}


def test_what_a_living_runner_made_is_never_abandoned_however_old():
    assert not is_abandoned(owner_labels(100), age_seconds=0)
    assert not is_abandoned(owner_labels(100), age_seconds=10**9)


def test_what_a_dead_runner_of_this_machine_made_is_abandoned_at_once(dead):
    assert is_abandoned(labels(dead), age_seconds=0)


def test_what_cannot_be_judged_from_here_is_abandoned_long_after_its_deadline():
    assert not is_abandoned(labels(ELSEWHERE), age_seconds=100)
    assert not is_abandoned(labels(ELSEWHERE), age_seconds=3600)
    assert is_abandoned(labels(ELSEWHERE), age_seconds=3701)


@pytest.mark.parametrize(
    "strange",
    [
        {},
        {OWNER_LABEL: "0f" * 16},
        {OWNER_LABEL: ""},
        {OWNER_LABEL: str(ELSEWHERE)},
        labels(ELSEWHERE, "soon"),
    ],
)
def test_what_bears_no_readable_labels_is_left_alone(strange):
    assert not is_abandoned(strange, age_seconds=10**9)
