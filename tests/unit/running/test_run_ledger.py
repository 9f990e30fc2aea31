"""Every run writes its plan into the ledger of its store, and each launch after it, whatever became of the launch."""

import errno
import hashlib
import json
import os

import pytest
from verify.made import DOUBLER, Forge

from runner.executors.local import LocalExecutor
from runner.host.clean.results import find_results
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine, Line, PlanLine, RemovedLine
from runner.system.errors import DamagedLedger, NoSpace

SMOKE = ("--profile", "smoke")


@pytest.fixture
def forge(tmp_path, capsys) -> Forge:
    return Forge.of(tmp_path, capsys)


def lines(forge: Forge) -> tuple[Line, ...]:
    return read_ledger(forge.store.ledger_path).lines


def test_a_run_writes_its_plan_then_each_launch_then_the_secret(forge):
    forge.run(*SMOKE, other=DOUBLER)
    plan, *launches, end = lines(forge)
    assert isinstance(plan, PlanLine)
    assert isinstance(end, EndLine)
    records = forge.store.records()
    assert {each.plan for each in (*launches, end)} == {plan.plan}
    assert [each.keys for each in launches] == [each.keys for each in plan.launches]
    assert {each for launch in launches for each in launch.records} == {
        record.content_sha256 for record in records
    }
    assert {launch.launch for launch in launches} == {record.launch.id for record in records}
    assert (end.outcome, end.why) == ("done", None)
    assert hashlib.sha256(bytes.fromhex(end.opening)).hexdigest() == plan.secret_sha256
    matrix = (forge.directory / "matrix.yaml").read_bytes()
    assert plan.matrix_sha256 == hashlib.sha256(matrix).hexdigest()
    assert plan.options["profile"] == plan.profile == "smoke"


def test_a_run_that_starts_nothing_writes_nothing(forge):
    forge.run(*SMOKE)
    before = forge.store.ledger_path.read_bytes()
    forge.run(*SMOKE)
    assert forge.store.ledger_path.read_bytes() == before


def test_a_failure_has_its_line_and_so_has_the_launch_that_repeats_it(forge):
    wrong = DOUBLER.replace("each * 2", "each * 3")
    forge.run(*SMOKE, other=wrong)
    forge.run(*SMOKE, other=wrong)
    plans = [each for each in lines(forge) if isinstance(each, PlanLine)]
    failed = [each for each in lines(forge) if isinstance(each, LaunchLine) and each.failures]
    assert (len(plans), len(failed)) == (2, 2)
    assert {kind for each in failed for kind in each.failures.values()} == {"wrong-output"}
    assert failed[0].keys == failed[1].keys
    assert failed[0].records != failed[1].records


def test_a_disk_that_fills_between_two_launches_ends_the_plan_and_tells_its_secret(forge, monkeypatch):
    launch = LocalExecutor.launch

    def full(self, request):
        if request.name.startswith("double-"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return launch(self, request)

    with monkeypatch.context() as patched:
        patched.setattr(LocalExecutor, "launch", full)
        forge.run(*SMOKE)
    (end,) = (each for each in lines(forge) if isinstance(each, EndLine))
    assert end.outcome == "stopped"


def test_an_interrupted_run_keeps_its_secret_and_the_next_begins_a_new_plan(forge, monkeypatch):
    launch = LocalExecutor.launch

    def interrupted(self, request):
        if request.name.startswith("double-other"):
            raise KeyboardInterrupt
        return launch(self, request)

    with monkeypatch.context() as patched:
        patched.setattr(LocalExecutor, "launch", interrupted)
        forge.run(*SMOKE, other=DOUBLER)
    plan, whole, void = lines(forge)
    assert (whole.void, void.void, void.records) == (None, "interrupted", ())
    forge.run(*SMOKE, other=DOUBLER)
    assert [type(each) for each in lines(forge)[3:]] == [PlanLine, LaunchLine, EndLine]
    assert {each.plan for each in lines(forge)[3:]} != {plan.plan}


def test_a_run_that_an_error_stops_says_so_and_gives_its_secret(forge, monkeypatch):
    launch = LocalExecutor.launch

    def full(self, request):
        if request.name.startswith("double-"):
            raise NoSpace(what="no room", why="the disk is full", fix="make room")
        return launch(self, request)

    monkeypatch.setattr(LocalExecutor, "launch", full)
    forge.run(*SMOKE)
    plan, launch, end = lines(forge)
    assert launch.void == end.why == "NoSpace: no room"
    assert end.outcome == "stopped"
    assert hashlib.sha256(bytes.fromhex(end.opening)).hexdigest() == plan.secret_sha256


def test_nothing_is_started_where_the_ledger_is_damaged(forge):
    forge.run(*SMOKE)
    path = forge.store.ledger_path
    path.write_bytes(path.read_bytes().replace(b'"smoke"', b'"quick"', 1))
    before = forge.store.records()
    assert forge.verify("--keep", str(forge.store.root))[0] == DamagedLedger.exit_code
    assert forge.store.records() == before


def test_removing_the_records_keeps_the_ledger_and_says_so_in_it(forge):
    forge.run(*SMOKE)
    area = find_results(forge.store, records=True)
    assert any("ledger" in text for text in area.stays)
    assert [item.remove() for item in area.items] == [None] * len(area.items)
    assert forge.store.records() == []
    last = lines(forge)[-1]
    assert isinstance(last, RemovedLine)
    assert last.records == 2


def test_what_a_run_needs_stays_while_it_goes_on(forge):
    forge.run(*SMOKE)
    with forge.store.in_use():
        area = find_results(forge.store, records=False)
        assert not [item for item in area.items if item.name.startswith(("inputs", "references"))]
        assert any("a run needs" in text for text in area.stays)
    freed = [item.name.split()[0] for item in find_results(forge.store, records=False).items]
    assert {"inputs", "references"} <= set(freed)


def test_a_ledger_names_no_place_of_this_host(forge):
    forge.run(*SMOKE)
    text = forge.store.ledger_path.read_text()
    assert str(forge.directory) not in text
    assert json.loads(text.splitlines()[0])["kind"] == "plan"
    assert os.uname().nodename not in text


def test_a_folder_with_a_ledger_is_still_one_of_results_alone(forge):
    forge.run(*SMOKE)
    assert forge.store.holds_only_results()
