"""Cells as jobs of a real Slurm fleet: two nodes on this machine, Debian's slurmctld, slurmd and munge."""

import hashlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from runner.system.errors import HostAway, LaunchesLost, NotQuiet
from tests.fleet.cells import Runs, end_of, interrupt, names, told
from tests.fleet.own_fleet import WHY_NOT, OwnFleet, own_fleet, possible

EVERY = sorted(product(("n=1", "n=2"), ("other", "plain"), (1, 2)))
ALIVE = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED")


@pytest.fixture(scope="module")
def fleet() -> Iterator[OwnFleet]:
    if not possible():
        pytest.skip(WHY_NOT)
    with own_fleet() as started:
        yield started


@pytest.fixture
def runs(fleet: OwnFleet, tmp_path: Path) -> Runs:
    found = Runs(fleet=fleet, directory=tmp_path)
    found.write_matrix()
    return found


def test_each_launch_is_a_job_and_its_sealed_records_are_stored_by_the_call(runs):
    runs.open_gate()
    code, said = runs.call()
    assert code == 0, said
    assert names(runs.store.records()) == EVERY
    assert {record.launch.executor for record in runs.store.records()} == {"local"}
    [plan], launches, [end] = told(runs.lines)
    assert {each for line in launches for each in line.records} == {
        record.content_sha256 for record in runs.store.records()
    }
    assert hashlib.sha256(bytes.fromhex(end.opening)).hexdigest() == plan.secret_sha256
    # Each job had the CPU of its launch and one for the runner, and both nodes are this machine.
    assert {len(record.launch.limits.cpuset.split(",")) for record in runs.store.records()} == {1}
    assert list(runs.store.place("slurm").iterdir()) == []
    code, said = runs.call()
    assert (code, len(runs.store.records())) == (0, len(EVERY))
    assert "8 reused" in said


def test_ctrl_c_cancels_the_jobs_and_keeps_what_had_ended_and_the_next_call_goes_on(runs):
    process = runs.begin()
    runs.wait_until_blocked()
    interrupt(process)
    code, said = end_of(process)
    assert code == 130, said
    assert "cancelled the jobs of this run" in said
    assert runs.fleet.jobs(*ALIVE) == []
    assert {implementation for _, implementation, _ in names(runs.store.records())} == {"plain"}
    [_], launches, ends = told(runs.lines)
    assert (ends, "interrupted" in {each.void for each in launches}) == ([], True)
    assert list(runs.store.place("slurm").iterdir()) == []
    runs.open_gate()
    code, said = runs.call()
    assert code == 0, said
    assert names(runs.store.records()) == EVERY


def test_the_jobs_of_a_killed_call_go_on_and_the_next_call_adopts_them(runs):
    process = runs.begin()
    runs.wait_until_blocked()
    [secret] = runs.store.root.glob("slurm/*/secret")
    assert (secret.stat().st_mode & 0o777, secret.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    process.kill()
    process.wait()
    runs.open_gate()
    code, said = runs.call()
    assert code == 0, said
    assert "which a call left behind" in said
    assert names(runs.store.records()) == EVERY
    [plan], launches, [end] = told(runs.lines)
    assert len(launches) == len(plan.launches)
    assert end.outcome == "done"
    assert hashlib.sha256(bytes.fromhex(end.opening)).hexdigest() == plan.secret_sha256


def test_a_job_that_somebody_cancelled_is_told_and_runs_again_at_the_next_call(runs):
    process = runs.begin()
    runs.wait_until_blocked()
    runs.fleet.call("scancel", *runs.fleet.jobs(*ALIVE))
    code, said = end_of(process)
    assert code == LaunchesLost.exit_code, said
    assert "cancelled: somebody cancelled its job" in said
    _, launches, [end] = told(runs.lines)
    lost = [each for each in launches if each.void is not None]
    assert {each.void.partition(":")[0] for each in lost} == {"cancelled"}
    assert end.outcome == "done"
    runs.open_gate()
    code, said = runs.call()
    assert code == 0, said
    assert names(runs.store.records()) == EVERY


def test_a_partition_that_does_not_exist_is_said_in_slurms_words(runs):
    runs.write_matrix(slurm={"partition": "nowhere"})
    code, said = runs.call()
    assert code == HostAway.exit_code
    assert "invalid partition" in said.lower()
    assert "Traceback" not in said


def test_a_launch_whose_matrix_changed_since_its_plan_is_refused_on_its_node(runs):
    runs.write_matrix(seeds=3)
    process = runs.begin()
    # Both nodes are one machine. While one launch holds its CPU the other node's waits, and further jobs wait for them.
    runs.wait_until_blocked()
    runs.write_matrix(seeds=3, tolerance=1e-3)
    runs.open_gate()
    code, said = end_of(process)
    assert code == LaunchesLost.exit_code, said
    assert "NodeDiffers" in said
    stored = runs.store.records()
    assert not any(record.failed for record in stored)
    _, launches, _ = told(runs.lines)
    assert sum(len(each.keys) for each in launches if each.void is None) == len(stored)
    assert any((each.void or "").startswith("NodeDiffers") for each in launches)


def test_a_rule_adds_jobs_to_the_same_plan_until_the_intervals_are_narrow(runs):
    runs.write_matrix(seeds=5, cases=1, uneven=True)
    runs.open_gate()
    code, said = runs.call("--target-precision", "40%")
    assert code == 0, said
    # The first seed counts among five, and hardly among ten.
    assert names(runs.store.records()) == sorted(product(("n=1",), ("other", "plain"), range(1, 11)))
    assert {record.launch.target_precision for record in runs.store.records()} == {0.4}
    [plan], launches, [end] = told(runs.lines)
    assert (len(plan.launches), len(launches), end.outcome) == (10, 20, "done")


def test_a_strict_call_refuses_a_restless_node_before_anything_is_submitted(runs):
    runs.open_gate()
    code, said = runs.call("--strict")
    assert code == NotQuiet.exit_code, said
    assert "the machine of fleet is not fit to be measured on" in said
    assert runs.store.records() == []
