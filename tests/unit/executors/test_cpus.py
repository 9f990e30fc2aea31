"""Cells run on the last CPUs that the runner itself may use."""

import os
from collections.abc import Iterator

import pytest

from runner.system.cpus import last_cpus, usable_cpus

CPUS = os.cpu_count() or 1


@pytest.fixture
def first_cpu_alone() -> Iterator[int]:
    """This process held to one CPU, the first that it has, as by ``taskset``."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield min(before)
    os.sched_setaffinity(0, before)


def test_a_runner_held_to_a_cpu_holds_its_cells_to_it(first_cpu_alone: int) -> None:
    assert usable_cpus(CPUS) == (first_cpu_alone,)


def test_a_daemon_with_another_number_of_cpus_is_another_machine(first_cpu_alone: int) -> None:
    assert usable_cpus(CPUS + 3) == tuple(range(CPUS + 3)), first_cpu_alone


def test_a_cell_gets_the_last_cpus_and_no_more_than_there_are() -> None:
    assert last_cpus(2, (0, 1, 5, 7)) == (5, 7)
    assert last_cpus(4, (0, 1)) == (0, 1)
