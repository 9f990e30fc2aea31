"""Rules of a call that hold for a fleet too: what is not stored, and which launches a plan gains. Slurm is a stand-in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from conftest import DOUBLER, program, small_matrix
from example_records import make_record

from runner.executors.local import LocalExecutor
from runner.fleet.follow import Follower
from runner.fleet.run import FleetSummary, adopt, run_on_fleet
from runner.fleet.spool import Answer, Spool, Submitted, Task, texts
from runner.matrix import load_matrix
from runner.planning.cells import Selection
from runner.planning.plan import make_plan
from runner.planning.planned import Launch, Plan
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine
from runner.records.record import Record
from runner.records.store import Store
from runner.running.occasion import UNKNOWN
from runner.slurm import commands
from runner.slurm.job import Job
from runner.system.checkout import ROOT
from runner.system.errors import NotQuiet


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def plan(write_matrix: Callable[[dict], Path], store: Store) -> Plan:
    matrix = load_matrix(write_matrix(small_matrix(other=program(DOUBLER))))
    return make_plan(matrix, Selection(profile="quick"), LocalExecutor(ROOT), store)


@pytest.fixture
def tasks(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """What each task of the fleet read, in their order. Each answers at once, with a record of its own."""
    read: list[Task] = []

    def submit(job: Job) -> str:
        *_, name, first = job.command
        spool = Spool(store=store, plan=name)
        for number in range(int(first), int(first) + (job.count or 0)):
            read.append(spool.read().tasks[number])
            records = texts([make_record(minute=number)])
            spool.answer(number, Answer(launch=f"l-{number}", node="n1", restarts=0, records=records))
        return first

    monkeypatch.setattr(commands, "submit", submit)
    monkeypatch.setattr(commands, "largest_array", lambda: 1000)
    monkeypatch.setattr(commands, "tasks", lambda _prefix: [])
    monkeypatch.setattr(commands, "cancel", lambda _jobs: None)
    return read


def go(plan: Plan, store: Store, **rules: object) -> FleetSummary:
    asked = {"accept": lambda _: None, "more": lambda _: [], "strict": False, **rules}
    return run_on_fleet(
        plan, LocalExecutor(ROOT), store, matrix=Path("matrix.yaml"), occasion=UNKNOWN, say=lambda _: None, **asked
    )  # fmt: skip


def refused(record: Record) -> None:
    """Of the fourth launch, whose record is of the fourth minute."""
    if record.identifier.startswith("20260101T0003"):
        raise NotQuiet(what="a launch was disturbed", why="load", fix="stop it")


def told(store: Store) -> tuple[list[LaunchLine], str]:
    lines = read_ledger(store.ledger_path).lines
    assert isinstance(lines[-1], EndLine)
    return [each for each in lines if isinstance(each, LaunchLine)], lines[-1].outcome


def test_a_plan_gains_launches_as_further_arrays_until_the_rule_asks_for_none(plan, store, tasks):
    asked: list[int] = []

    def more(records: list[Record]) -> list[Launch]:
        asked.append(len(records))
        return [replace(each, target_precision=0.02) for each in plan.launches] if len(asked) < 3 else []

    summary = go(plan, store, more=more)
    count = len(plan.launches)
    assert asked == [count, 2 * count, 3 * count]
    assert [each.name for each in tasks] == [str(each) for each in plan.launches] * 3
    assert {each.target_precision for each in tasks[count:]} == {0.02}
    assert (len(summary.records), summary.lost) == (3 * count, [])
    launches, outcome = told(store)
    assert (len(launches), outcome) == (3 * count, "done")


def test_a_record_that_is_refused_ends_the_plan_and_what_others_answered_is_kept(plan, store, tasks):
    with pytest.raises(NotQuiet):
        go(plan, store, accept=refused)
    assert len(store.records()) == len(tasks) - 1
    launches, outcome = told(store)
    assert [each.void for each in launches if each.void] == ["NotQuiet: a launch was disturbed"]
    assert (len(launches), outcome) == (len(tasks), "stopped")


@pytest.mark.parametrize("strict", [True, False])
def test_a_call_that_adopts_a_plan_is_as_strict_as_the_plan(plan, store, tasks, monkeypatch, strict):
    class KilledError(BaseException):
        """The call is gone: nothing of it tidies up."""

    def killed(_self: Follower) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Follower, "follow", killed)
        patched.setattr(Follower, "cancel", lambda _self: None)
        patched.setattr(Spool, "remove", lambda _self: None)
        with pytest.raises(KilledError):
            go(plan, store, strict=strict)
    said: list[str] = []
    if strict:
        with pytest.raises(NotQuiet):
            adopt(store, said.append, refused)
    else:
        adopt(store, said.append, refused)
    assert len(store.records()) == len(tasks) - strict
    assert "going on with the Slurm jobs" in said[0]


def test_a_plan_that_an_earlier_version_submitted_has_no_rules():
    task = b'{"name":"n","cells":[],"deadline_seconds":1.0}'
    text = b'{"plan":"p","profile":"smoke","matrix":"m","executor":"docker","tasks":[%b]}' % task
    submitted = msgspec.json.decode(text, type=Submitted)
    assert not submitted.strict
    assert submitted.tasks[0].target_precision is None
