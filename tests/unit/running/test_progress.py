"""The progress line and its ETA: from what is known, learning as launches end."""

import io
import re
from dataclasses import replace

import pytest
from conftest import DOUBLER, program, small_matrix
from example_records import make_record

from runner.executors.local import LocalExecutor
from runner.matrix import load_matrix
from runner.planning.cells import Selection
from runner.planning.estimates import duration
from runner.planning.plan import make_plan
from runner.planning.planned import Launch
from runner.records.store import Store
from runner.running.progress import Progress


class Screen(io.StringIO):
    """Says that it is a terminal; its size is what the process's own terminal or COLUMNS says."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def launches(write_matrix, tmp_path) -> tuple[Launch, ...]:
    data = small_matrix(a_rather_long_name_of_an_implementation=program(DOUBLER))
    data["profiles"]["quick"]["seeds"]["native"] = [1, 2, 3, 4]
    plan = make_plan(
        load_matrix(write_matrix(data)),
        Selection(profile="quick"),
        LocalExecutor(tmp_path),
        Store(tmp_path / "results"),
    )
    return plan.launches


@pytest.fixture
def screen(monkeypatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    return Screen()


def last_line(screen: Screen) -> str:
    return screen.getvalue().rpartition("\r")[2].rstrip()


def begun(screen: Screen, launches, tmp_path, monkeypatch, columns: int) -> Progress:
    monkeypatch.setenv("COLUMNS", str(columns))
    progress = Progress(screen)
    progress.begin(launches, ())
    return progress


def test_nothing_is_said_of_the_time_before_anything_is_known(screen, launches, tmp_path, monkeypatch):
    progress = begun(screen, launches, tmp_path, monkeypatch, 80)
    progress.start(launches[0])
    assert re.fullmatch(r"\[1/8\] double \S+ \S+ seed 1   0 %", last_line(screen))


def test_what_a_launch_took_is_what_the_next_seed_of_it_will_take(screen, launches, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("runner.running.progress.time.monotonic", lambda: clock[0])
    progress = begun(screen, launches, tmp_path, monkeypatch, 100)
    progress.start(launches[0])
    clock[0] += 10
    progress.finish(launches[0], [make_record()])
    # Three more seeds of this one, and four launches of which nothing is known.
    progress.start(launches[1])
    assert last_line(screen).endswith("  0 %, 30 s + 4 unknown left")
    clock[0] += 14
    progress.finish(launches[1], [make_record()])
    names = [launch.first.implementation.name for launch in launches]
    assert names[0] != names[1]
    progress.start(launches[2])
    assert last_line(screen).endswith(f"  0 %, {3 * 10 + 3 * 14} s left")
    progress.within(0.5)
    half = 5 if names[2] == names[0] else 7
    assert last_line(screen).endswith(f" 50 %, {3 * 10 + 3 * 14 - half} s left")


def test_a_failure_teaches_nothing(screen, launches, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("runner.running.progress.time.monotonic", lambda: clock[0])
    progress = begun(screen, launches, tmp_path, monkeypatch, 80)
    progress.start(launches[0])
    clock[0] += 10

    failed = make_record(case="n=4", failure=("signal", "ended by SIGKILL"))
    progress.finish(launches[0], [failed])
    progress.start(launches[1])
    assert "left" not in last_line(screen)


@pytest.mark.parametrize("columns", [20, 25, 30, 40, 50, 60, 80, 120])
def test_every_line_leaves_the_last_column_free(screen, launches, tmp_path, monkeypatch, columns):
    clock = [100.0]
    monkeypatch.setattr("runner.running.progress.time.monotonic", lambda: clock[0])
    progress = begun(screen, launches, tmp_path, monkeypatch, columns)
    for number, launch in enumerate(launches):
        progress.start(launch)
        for share in (0.0, 0.333, 1.0):
            progress.within(share)
            assert len(last_line(screen)) < columns
            assert last_line(screen).startswith(f"[{number + 1}/8] ")
            assert f"{100 * share:.0f} %" in last_line(screen)
        clock[0] += 3600
        progress.finish(launch, [make_record()])


def test_a_shorter_line_leaves_nothing_of_a_longer_one(screen, launches, tmp_path, monkeypatch):
    progress = begun(screen, launches, tmp_path, monkeypatch, 120)
    long = max(range(len(launches)), key=lambda index: len(str(launches[index])))
    for index in range(long + 1):
        progress.start(launches[index])
        progress.finish(launches[index], [make_record()])
    progress.end()
    shown: list[str] = []
    for part in screen.getvalue().split("\n"):
        line = ""
        for written in part.split("\r"):
            line = written + line[len(written) :]
        shown.append(line.rstrip())
    finished = [line for line in shown if line.startswith("[")]
    assert len(finished) == long + 1
    assert all(re.fullmatch(r"\[\d/8\] double \S+ \S+ seed \d  \d+\.\d s  ok", line) for line in finished)


def test_without_a_terminal_there_are_whole_lines_only(launches, tmp_path):
    stream = io.StringIO()
    progress = Progress(stream)
    progress.begin(launches, ())
    progress.start(launches[0])
    progress.within(0.5)
    progress.finish(launches[0], [make_record()])
    progress.end()
    assert "\r" not in stream.getvalue()
    assert stream.getvalue().splitlines()[0] == "8 launches to run, unknown time"
    assert len(stream.getvalue().splitlines()) == 2


def test_one_launch_is_one_launch(launches, tmp_path):
    stream = io.StringIO()
    Progress(stream).begin(launches[:1], ())
    assert stream.getvalue() == "1 launch to run, unknown time\n"


def test_nothing_to_run_says_nothing(tmp_path):
    stream = io.StringIO()
    Progress(stream).begin((), ())
    assert stream.getvalue() == ""


def test_launches_that_differ_in_their_limits_alone_are_told_apart(write_matrix, tmp_path):
    data = small_matrix()
    data["limits"]["small"] = {"cpus": 1, "memory": "64MiB", "pids": 64, "threads": 1}
    data["benchmarks"]["double"]["limits"] = ["default", "small"]
    both = Selection(profile="smoke", limits=("default", "small"))
    store = Store(tmp_path / "results")
    plan = make_plan(load_matrix(write_matrix(data)), both, LocalExecutor(tmp_path), store)
    names = [str(launch) for launch in plan.launches]
    [platform] = data["platforms"]
    assert names == [f"double plain {platform} seed 1", f"double plain {platform} small seed 1"]


@pytest.fixture
def of_two_machines(launches) -> list[Launch]:
    """The launches, and the same on a board."""

    def moved(launch: Launch) -> Launch:
        board = replace(launch.first.platform, name="board", host="ssh://user@board")
        cells = (replace(each, cell=replace(each.cell, platform=board)) for each in launch.cells)
        return replace(launch, cells=tuple(cells))

    return [*launches, *map(moved, launches)]


def test_launches_that_run_at_the_same_time_share_a_line_and_the_slowest_machine_says_when_all_ends(
    screen, of_two_machines, tmp_path, monkeypatch
):
    clock = [100.0]
    monkeypatch.setattr("runner.running.progress.time.monotonic", lambda: clock[0])
    progress = begun(screen, of_two_machines, tmp_path, monkeypatch, 200)
    assert "16 launches to run on 2 machines" in screen.getvalue()
    here, board = of_two_machines[:8], of_two_machines[8:]
    for queue, seconds in ((here, 10), (board, 30)):
        for launch in queue[:2]:
            progress.start(launch)
            clock[0] += seconds
            progress.finish(launch, [make_record()])
    progress.start(here[2])
    progress.start(board[2])
    progress.within(0.5, here[2])
    assert last_line(screen) == f"[5/16] {here[2]}  50 % | {board[2]}   0 %, {duration(6 * 30)} left"
    progress.finish(board[2], [make_record()])
    assert f"[5/16] {board[2]}  0.0 s  ok" in screen.getvalue()
    progress.within(0.75)
    assert last_line(screen).startswith(f"[6/16] {here[2]}  75 %, ")


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_line_of_several_machines_leaves_the_last_column_free(
    screen, of_two_machines, tmp_path, monkeypatch, columns
):
    progress = begun(screen, of_two_machines, tmp_path, monkeypatch, columns)
    progress.start(of_two_machines[0])
    progress.start(of_two_machines[8])
    assert len(last_line(screen)) < columns


def test_launches_that_were_not_run_are_no_longer_waited_for(screen, launches, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("runner.running.progress.time.monotonic", lambda: clock[0])
    progress = begun(screen, launches, tmp_path, monkeypatch, 200)
    first = launches[0]
    progress.start(first)
    clock[0] += 10
    progress.finish(first, [make_record()])
    last = [each for each in launches if each.first.implementation == first.first.implementation][-1]
    progress.start(last)
    unknown = len(launches) - 1 - launches.index(last)
    assert last_line(screen).endswith(f"10 s + {unknown} unknown left" if unknown else "10 s left")
