"""Several machines at the same time: real processes on stand-ins for machines, of which one may go away."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import DOUBLER, program, small_matrix

from runner.executors.base import LaunchRequest, LaunchResult
from runner.executors.local import LocalExecutor
from runner.matrix import Implementation, Platform, load_matrix
from runner.planning.cells import Selection
from runner.planning.plan import make_plan
from runner.planning.planned import Plan
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine
from runner.records.record import Record
from runner.records.store import Store
from runner.running.progress import Progress
from runner.running.run import Summary, run
from runner.running.side_by_side import turns
from runner.system import machine
from runner.system.errors import DockerUnavailable, HostAway, NotQuiet

BOARD = "ssh://user@board:22"
# Waits until the other machine's launch has begun too, which it never does where machines take turns.
MEETS = """
import os
meeting = pathlib.Path({directory!r})
(meeting / f"{{arguments.seed}}-{{os.getpid()}}").touch()
until = time.monotonic() + 15
while len(list(meeting.glob(f"{{arguments.seed}}-*"))) < 2 and time.monotonic() < until:
    time.sleep(0.01)
if len(list(meeting.glob(f"{{arguments.seed}}-*"))) < 2:
    sys.exit("nobody came")
"""


HANGS = """
import os
(pathlib.Path({directory!r}) / str(os.getpid())).touch()
time.sleep(300)
"""


@dataclass(frozen=True)
class Faults:
    """What goes wrong with launches of the competitor on the board."""

    away: int = 0
    killed: bool = False
    broken: bool = False


class TwoMachines(LocalExecutor):
    """Launches of both machines are processes here. The board says that it is another machine."""

    def __init__(self, root: Path, faults: Faults = Faults()) -> None:
        super().__init__(root)
        self._faults = faults
        self._away = faults.away

    def machine(self, platform: Platform) -> dict[str, Any]:
        return {**machine.describe(), "daemon": None if platform.is_here else "b" * 16}

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        del implementation, platform
        return None

    def launch(self, request: LaunchRequest) -> LaunchResult:
        if not request.platform.is_here and "-other-" in request.name:
            if self._faults.killed:
                os.kill(os.getpid(), signal.SIGKILL)
            if self._faults.broken:
                raise DockerUnavailable(what="the daemon is ill", why="it says so", fix="call a doctor")
            if self._away:
                self._away -= 1
                raise HostAway(what="the machine of board cannot be reached", why="ssh ended", fix="wait")
        return super().launch(request)


@pytest.fixture
def plan(write_matrix: Callable[[dict], Path], tmp_path: Path) -> Plan:
    """Two seeds of two implementations on two machines. The competitors of one seed wait for each other."""
    (tmp_path / "meeting").mkdir()
    meets = program(MEETS.format(directory=str(tmp_path / "meeting")) + DOUBLER)
    matrix = small_matrix(other=program(DOUBLER), meets=meets)
    matrix["platforms"]["board"] = {"architecture": machine.architecture(), "host": BOARD}
    loaded = load_matrix(write_matrix(matrix))
    return make_plan(loaded, Selection(profile="quick"), TwoMachines(tmp_path), Store(tmp_path / "results"))


def find_this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have other processes import it too.

    Its own folder of ``conftest`` is first: where tests/redteam was collected too, another ``conftest`` precedes it.
    """
    own = str(Path(sys.modules[small_matrix.__module__].__file__ or "").parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([own, *sys.path]))


@pytest.fixture
def go(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Summary]:
    """Run the plan, each machine in a process of its own, which finds this module."""
    find_this_module(monkeypatch)

    def call(
        faults: Faults = Faults(), *, plan: Plan = plan, at_once: bool = True, **options: Any
    ) -> Summary:
        made = partial(TwoMachines, tmp_path, faults)
        apart = (lambda: made) if at_once else None
        return run(plan, made(), Store(tmp_path / "results"), Progress(), apart=apart, **options)

    return call


def without(plan: Plan, implementation: str) -> Plan:
    """The plan without the launches of one implementation."""
    kept = (each for each in plan.launches if each.first.implementation.name != implementation)
    return replace(plan, launches=tuple(kept))


def lines_of(tmp_path: Path) -> list[LaunchLine]:
    """The ledger's lines of launches. Its plan has ended well."""
    lines = read_ledger(Store(tmp_path / "results").ledger_path).lines
    assert isinstance(lines[-1], EndLine)
    assert lines[-1].outcome == "done"
    return [each for each in lines if isinstance(each, LaunchLine)]


def names(records: list[Record]) -> set[tuple[str, str, int]]:
    return {(record.platform, record.implementation, record.seed) for record in records}


def test_launches_of_two_machines_run_at_the_same_time(go, plan, tmp_path):
    summary = go()
    assert (summary.failed, summary.away) == ((), {})
    assert {record.key for record in Store(tmp_path / "results").records()} == plan.keys()
    assert len(lines_of(tmp_path)) == len(plan.launches)
    assert {record.machine.daemon for record in summary.records} == {None, "b" * 16}


def test_one_after_another_they_never_meet(go):
    failed = go(at_once=False).failed
    assert {record.implementation for record in failed} == {"meets"}


def test_each_machine_keeps_the_order_of_the_plan_and_runs_one_launch_at_a_time(go, plan):
    records = go(plan=without(plan, "meets")).records
    for platform in ("board", machine.architecture()):
        own = [each for each in records if each.platform == platform]
        spans = {each.launch.id: each.launch for each in own}
        planned = [each for each in plan.launches if each.first.platform.name == platform]
        assert [launch.split("-")[1] for launch in spans] == [
            each.first.implementation.name for each in planned if each.first.implementation.name != "meets"
        ]
        starts = [each.started_at for each in spans.values()]
        assert starts == sorted(starts)


def test_a_machine_that_dies_stops_no_other_and_the_ledger_says_what_was_not_run(go, plan, tmp_path):
    summary = go(Faults(away=99), plan=without(plan, "meets"))
    assert summary.away == {"board": "ssh ended"}
    here = {each for each in names(list(summary.records)) if each[0] != "board"}
    assert len(here) == 4
    assert not any(each.failed for each in summary.records)
    voids = [line.void for line in lines_of(tmp_path) if line.void is not None]
    assert voids[:2] == ["HostAway: the machine of board cannot be reached"] * 2
    assert set(voids[2:]) == {"the machine of board was away"}


def test_a_launch_whose_machine_comes_back_begins_again(go, plan, tmp_path):
    summary = go(Faults(away=1), plan=without(plan, "meets"))
    assert summary.away == {}
    assert len(names(list(summary.records))) == 8
    assert [line.void for line in lines_of(tmp_path)].count(
        "HostAway: the machine of board cannot be reached"
    ) == 1


def test_a_process_that_is_killed_takes_its_own_machine_along_and_no_other(go, plan, tmp_path):
    summary = go(Faults(killed=True), plan=without(plan, "meets"))
    assert summary.away == {"board": "the process that measured there ended (SIGKILL)"}
    assert len([each for each in names(list(summary.records)) if each[0] != "board"]) == 4
    told = {key for line in lines_of(tmp_path) for key in line.keys}
    assert told == {each.key for launch in without(plan, "meets").launches for each in launch.cells}


def test_an_error_that_ends_a_run_ends_it_on_all_machines(go, plan, tmp_path):
    began = time.monotonic()
    with pytest.raises(DockerUnavailable) as caught:
        go(Faults(broken=True))
    assert (caught.value.what, caught.value.why, caught.value.fix) == (
        "the daemon is ill",
        "it says so",
        "call a doctor",
    )
    assert time.monotonic() - began < 30
    lines = read_ledger(Store(tmp_path / "results").ledger_path).lines
    assert isinstance(lines[-1], EndLine)
    assert lines[-1].outcome == "stopped"


def test_a_record_that_is_not_accepted_is_not_stored(go, plan, tmp_path):
    def accept(record: Record) -> None:
        if record.platform == "board" and record.implementation == "other":
            raise NotQuiet(what="loud", why="very", fix="hush")

    with pytest.raises(NotQuiet):
        go(plan=without(plan, "meets"), accept=accept)
    stored = names(Store(tmp_path / "results").records())
    assert not {each for each in stored if each[:2] == ("board", "other")}


def test_another_machine_than_the_plans_is_not_measured(go, plan, tmp_path):
    swapped = {**plan.machines["board"], "cpu_model": "Another"}
    other = replace(without(plan, "meets"), machines={**plan.machines, "board": swapped})
    summary = go(plan=other)
    assert "Another" in summary.away["board"]
    assert {record.platform for record in summary.records} == {machine.architecture()}


def test_a_room_is_whole_when_its_own_machine_has_ended_it(go, plan):
    whole: list[str] = []
    go(plan=without(plan, "meets"), when_whole=lambda cell, _: whole.append(cell.platform.name))
    assert sorted(whole) == sorted(["board", machine.architecture()])


def test_what_another_machines_reference_judges_waits_for_it(plan):
    board, *others = plan.launches
    assert [*turns(plan.launches)] == [plan.launches]
    elsewhere = next(
        each.first.platform for each in plan.launches if each.first.platform != board.first.platform
    )
    cells = (replace(each, cell=replace(each.cell, reference_platform=elsewhere)) for each in board.cells)
    judged = replace(board, cells=tuple(cells))
    assert [*turns([judged, *others])] == [tuple(others), (judged,)]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell that starts the tests in the background ignores SIGINT, and so would this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_ends_the_launches_of_all_machines_and_the_ledger_says_so(
    write_matrix, tmp_path, monkeypatch
):
    find_this_module(monkeypatch)
    (tmp_path / "begun").mkdir()
    matrix = small_matrix()
    matrix["benchmarks"]["double"]["implementations"]["plain"]["command"] = program(
        HANGS.format(directory=str(tmp_path / "begun"))
    )
    matrix["platforms"]["board"] = {"architecture": machine.architecture(), "host": BOARD}
    store, made = Store(tmp_path / "results"), partial(TwoMachines, tmp_path)
    plan = make_plan(load_matrix(write_matrix(matrix)), Selection(profile="smoke"), made(), store)
    begun: list[int] = []

    def interrupt() -> None:
        while len(begun) < 2:
            # A loop without a pause would keep a processor from the launches that it waits for.
            time.sleep(0.01)
            begun[:] = [int(each.name) for each in (tmp_path / "begun").iterdir()]
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        run(plan, made(), store, Progress(), apart=lambda: made)
    watcher.join()
    assert not any(map(psutil.pid_exists, begun))
    lines = read_ledger(store.ledger_path).lines
    assert [each.void for each in lines if isinstance(each, LaunchLine)] == ["interrupted"] * 2
    assert not any(isinstance(each, EndLine) for each in lines)
