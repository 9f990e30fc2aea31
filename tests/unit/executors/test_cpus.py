"""Cells run on the last CPUs that the runner itself may use."""

import os
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.cpus import CpuSet, choose_cpus, cpu_beside, usable_cpus
from runner.system.topology import Standing, Topology, topology_of

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


def machine(cores: int, threads: int = 1, *, apart: bool) -> Topology:
    """An invented machine. ``apart``: its kernel numbers all first threads and then all second ones."""
    groups = [
        frozenset(core + cores * thread if apart else core * threads + thread for thread in range(threads))
        for core in range(cores)
    ]
    return {cpu: Standing(core=group) for group in groups for cpu in group}


def test_a_cell_gets_the_last_cpus_and_no_more_than_there_are() -> None:
    assert choose_cpus(2, (0, 1, 5, 7), None).cpus == (5, 7)
    assert choose_cpus(4, (0, 1), None).cpus == (0, 1)


@pytest.mark.parametrize(
    ("count", "usable", "cores", "cpus", "siblings"),
    [
        (2, range(4), machine(4, apart=True), (2, 3), ()),
        # As most Intel and AMD kernels number them.
        (2, range(8), machine(4, 2, apart=True), (6, 7), ()),
        (4, range(8), machine(4, 2, apart=True), (4, 5, 6, 7), ()),
        (5, range(8), machine(4, 2, apart=True), (3, 4, 5, 6, 7), ((3, 7),)),
        # As many virtual machines do.
        (1, range(8), machine(4, 2, apart=False), (7,), ()),
        (2, range(8), machine(4, 2, apart=False), (5, 7), ()),
        (4, range(8), machine(4, 2, apart=False), (1, 3, 5, 7), ()),
        (6, range(8), machine(4, 2, apart=False), (1, 3, 4, 5, 6, 7), ((4, 5), (6, 7))),
        (2, range(2), machine(1, 2, apart=False), (0, 1), ((0, 1),)),
        # Four threads a core, and a runner that is held to some of the CPUs.
        (2, range(8), machine(2, 4, apart=False), (3, 7), ()),
        (2, (4, 5, 6), machine(2, 4, apart=False), (5, 6), ((5, 6),)),
        (2, (0, 1, 2), machine(4, 2, apart=False), (1, 2), ()),
        (9, range(8), machine(4, 2, apart=True), tuple(range(8)), ((0, 4), (1, 5), (2, 6), (3, 7))),
    ],
)
def test_cpus_of_different_cores_come_first_and_siblings_are_told(
    count: int,
    usable: Sequence[int],
    cores: Topology,
    cpus: tuple[int, ...],
    siblings: tuple[tuple[int, ...], ...],
) -> None:
    assert choose_cpus(count, usable, cores) == CpuSet(cpus=cpus, siblings=siblings)


@pytest.mark.parametrize(
    ("count", "usable", "cores", "beside"),
    [
        (1, range(2), machine(2, apart=True), "0"),
        (1, range(2), None, "0"),
        (1, range(4), machine(2, 2, apart=True), "2"),
        (1, range(4), machine(2, 2, apart=False), "1"),
        (2, range(4), machine(2, 2, apart=False), "2"),
        # One that shares a core with the launch is still another CPU.
        (1, range(2), machine(1, 2, apart=False), "0"),
        (2, range(2), machine(2, apart=True), None),
        (1, (3,), None, None),
    ],
)
def test_what_waits_beside_a_launch_is_on_another_cpu_and_core_where_there_is_one(
    count: int, usable: Sequence[int], cores: Topology | None, beside: str | None
) -> None:
    assert cpu_beside(choose_cpus(count, usable, cores), usable, cores) == beside


@given(
    usable=st.sets(st.integers(0, 15), min_size=1),
    count=st.integers(1, 16),
    threads=st.sampled_from([1, 2, 4]),
    apart=st.booleans(),
)
def test_a_launch_has_its_cpus_for_itself_and_as_many_cores_as_there_are(
    usable: set[int], count: int, threads: int, apart: bool
) -> None:
    cores = machine(16 // threads, threads, apart=apart)
    chosen = choose_cpus(count, usable, cores)
    assert set(chosen.cpus) <= usable
    assert len(chosen.cpus) == min(count, len(usable))
    assert len({cores[cpu].core for cpu in chosen.cpus}) == min(
        count, len({cores[cpu].core for cpu in usable})
    )
    beside = cpu_beside(chosen, usable, cores)
    assert (beside is None) is (set(chosen.cpus) == usable)
    assert beside is None or int(beside) in usable - set(chosen.cpus)


def test_of_a_machine_that_nobody_can_look_at_no_siblings_are_told() -> None:
    chosen = choose_cpus(2, range(4), None)
    assert (str(chosen), chosen.siblings, chosen.sibling_lists) == ("2,3", None, None)


def test_more_cpus_than_there_are_is_said() -> None:
    assert choose_cpus(2, range(2), None).too_few(2) is None
    assert choose_cpus(64, range(2), None).too_few(64) == "its limits ask for 64 CPUs, and 2 may be used here"


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, {0: {0, 2}, 1: {1, 3}, 2: {0, 2}, 3: {1, 3}}),
        ({0: "0-1", 1: "0-1"}, {0: {0, 1}, 1: {0, 1}}),
        ({0: None}, None),
        ({}, None),
    ],
)
def test_the_kernel_says_what_shares_a_core(
    lists: Mapping[int, str | None], expected: Mapping[int, set[int]] | None
) -> None:
    files = {
        f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text for cpu, text in lists.items()
    }
    found = topology_of(files.get, lists)
    assert (found and {cpu: set(standing.core) for cpu, standing in found.items()}) == expected
