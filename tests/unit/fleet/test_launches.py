"""A plan as its jobs read it: which launches wait for which, and the same cells again on the node."""

from dataclasses import replace

import pytest
from conftest import DOUBLER, program, small_matrix

from runner.executors.local import LocalExecutor
from runner.fleet.launches import plan_of, task_of
from runner.fleet.run import arrays_of, split
from runner.matrix import Matrix, Slurm, load_matrix
from runner.planning.cells import Selection
from runner.planning.plan import make_plan
from runner.planning.planned import Plan
from runner.records.store import Store
from runner.system.checkout import ROOT
from runner.system.errors import NodeDiffers

EXECUTOR = LocalExecutor(ROOT)


@pytest.fixture
def matrix(write_matrix) -> Matrix:
    return load_matrix(write_matrix(small_matrix(other=program(DOUBLER), third=program(DOUBLER))))


@pytest.fixture
def plan(matrix, tmp_path) -> Plan:
    return make_plan(matrix, Selection(profile="quick"), EXECUTOR, Store(tmp_path / "results"))


def test_the_reference_of_a_room_is_an_array_that_all_others_of_the_room_wait_for(plan):
    first, second = arrays_of(plan.launches, most=1000)
    assert (first.waits, second.waits) == (False, True)
    assert {each.first.implementation.name for each in first.launches} == {"plain"}
    assert (first.first, second.first) == (0, len(first.launches))
    assert (*first.launches, *second.launches) == plan.launches


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_array_has_more_tasks_than_slurm_takes_and_none_is_lost(plan, most):
    found = list(arrays_of(plan.launches, most))
    assert all(len(each.launches) <= most for each in found)
    assert tuple(launch for each in found for launch in each.launches) == plan.launches
    assert all(plan.launches[each.first] is each.launches[0] for each in found)


def test_a_node_reads_the_same_launch_that_was_planned(plan, matrix):
    for launch in plan.launches:
        again = plan_of(task_of(launch), "quick", matrix, EXECUTOR).launches[0]
        assert (again.execution, again.deadline_seconds) == (launch.execution, launch.deadline_seconds)
        for read, planned in zip(again.cells, launch.cells, strict=True):
            assert (read.cell, read.key, read.key_version) == (planned.cell, planned.key, planned.key_version)
            assert (read.reference, read.kept_as) == (planned.reference, planned.kept_as)


def test_a_node_that_is_another_machine_refuses_the_launch(plan, matrix, monkeypatch):
    there = {**EXECUTOR.machine(plan.launches[0].first.platform), "cpu_model": "another"}
    monkeypatch.setattr(LocalExecutor, "machine", lambda _self, _platform: there)
    with pytest.raises(NodeDiffers, match="is another cell on this node"):
        plan_of(task_of(plan.launches[0]), "quick", matrix, EXECUTOR)


def test_a_cell_that_left_the_matrix_is_refused(plan, write_matrix):
    changed = load_matrix(write_matrix(small_matrix(third=program(DOUBLER))))
    gone = next(each for each in plan.launches if each.first.implementation.name == "other")
    with pytest.raises(NodeDiffers, match="not that of the plan"):
        plan_of(task_of(gone), "quick", changed, EXECUTOR)


def test_what_runs_on_a_fleet_is_a_plan_of_its_own(plan):
    [platform] = {each.first.platform for each in plan.launches}
    fleet = replace(platform, name="fleet", slurm=Slurm())
    moved = tuple(
        replace(
            launch,
            cells=tuple(replace(each, cell=replace(each.cell, platform=fleet)) for each in launch.cells),
        )
        for launch in plan.launches
    )
    here, [there] = split(replace(plan, launches=(*plan.launches, *moved)))
    assert (here.launches, there.launches) == (plan.launches, moved)
    assert split(plan) == (plan, [])
