"""What takes minutes on a real fleet: a node that is lost in mid-run, preemption and time limits.

Slurm waits two minutes before it starts a requeued job. These tests tell it not to.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from runner.system.errors import LaunchesLost
from tests.fleet.cells import Runs, end_of, names, told
from tests.fleet.own_fleet import WHY_NOT, OwnFleet, own_fleet, possible

_MINUTES = 60.0


@pytest.fixture
def fleet() -> Iterator[OwnFleet]:
    if not possible():
        pytest.skip(WHY_NOT)
    with own_fleet() as started:
        yield started


@pytest.fixture
def runs(fleet: OwnFleet, tmp_path: Path) -> Runs:
    return Runs(fleet=fleet, directory=tmp_path)


def cells(*, cases: int, seeds: int) -> list[tuple[str, str, int]]:
    lengths = [f"n={length}" for length in range(1, cases + 1)]
    return sorted(product(lengths, ("other", "plain"), range(1, seeds + 1)))


def start_requeued(fleet: OwnFleet) -> None:
    """Start the jobs that Slurm lets wait after their node was lost, or their place was taken."""
    fleet.wait_for(lambda: "BeginTime" in fleet.call("squeue", "--noheader", "--format=%r"), 2 * _MINUTES)
    for line in fleet.call("squeue", "--array", "--noheader", "--format=%i %r").splitlines():
        job, _, reason = line.partition(" ")
        if reason.strip() == "BeginTime":
            fleet.call("scontrol", "update", f"JobId={job}", "StartTime=now")


def test_200_cells_are_stored_once_each_although_a_node_is_lost_in_mid_run(fleet, runs):
    runs.write_matrix(cases=10, seeds=10)
    process = runs.begin()
    runs.wait_until_blocked()
    fleet.wait_for(lambda: bool(fleet.call("squeue", "--noheader", "--nodelist=n2", "--states=RUNNING")))
    fleet.kill_node("n2")
    fleet.wait_for(lambda: "down" in fleet.call("sinfo", "--noheader", "--format=%T"), 2 * _MINUTES)
    start_requeued(fleet)
    runs.open_gate()
    code, said = end_of(process)
    assert code == 0, said
    found = names(runs.store.records())
    assert (len(found), found) == (200, cells(cases=10, seeds=10))
    [plan], launches, [end] = told(runs.lines)
    assert end.outcome == "done"
    again = [each for each in launches if each.void is not None]
    assert [each.void.partition(":")[0] for each in again] == ["requeued"]
    assert Counter(each.keys for each in launches if each.void is None) == Counter(
        each.keys for each in plan.launches
    )


def test_a_preempted_launch_runs_again_and_the_ledger_says_so(fleet, runs):
    runs.write_matrix()
    process = runs.begin()
    runs.wait_until_blocked()
    fleet.call(
        "sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=true"
    )
    start_requeued(fleet)
    runs.open_gate()
    code, said = end_of(process)
    assert code == 0, said
    assert names(runs.store.records()) == cells(cases=2, seeds=2)
    _, launches, [end] = told(runs.lines)
    assert end.outcome == "done"
    assert {each.void.partition(":")[0] for each in launches if each.void is not None} == {"requeued"}


def test_a_job_at_its_time_limit_is_told_as_that(fleet, runs):
    runs.write_matrix(deadline_seconds=600)
    process = runs.begin()
    runs.wait_until_blocked()
    for job in fleet.jobs("RUNNING"):
        fleet.call("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    fleet.wait_for(lambda: bool(fleet.jobs("TIMEOUT")), 4 * _MINUTES)
    runs.open_gate()
    code, said = end_of(process)
    assert code == LaunchesLost.exit_code, said
    _, launches, _ = told(runs.lines)
    assert {each.void.partition(":")[0] for each in launches if each.void is not None} == {"timeout"}
