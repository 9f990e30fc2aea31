"""How integration tests share a daemon: groups that one worker runs, and tests that are alone."""

import fcntl
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration import turns

ROOT = Path(__file__).parents[2]
FILES = {path.stem for path in (ROOT / "tests" / "integration").glob("test_*.py")}
# Takes its turn as the file says, tells when it has it, and gives it back when its input ends.
WORKER = """
import sys
from types import SimpleNamespace
from tests.integration import turns
alone = sys.argv[1] == "alone"
with turns.turn(SimpleNamespace(get_closest_marker=lambda _: alone or None)):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_every_file_that_is_named_exists():
    assert set(turns._FIRST) | turns._EACH_BY_ITSELF <= FILES


def shares_the_smoke_run(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "(smoke" in text or "mark.alone" in text


def test_all_tests_of_the_smoke_run_are_one_group_and_files_that_share_nothing_are_many():
    files = (ROOT / "tests" / "integration").glob("test_*.py")
    assert {path.stem for path in files if shares_the_smoke_run(path)} == set(turns._SMOKE)
    groups = {
        turns.group_of(f"tests/integration/{stem}.py::test_x[{case}]")
        for stem in turns._SMOKE
        for case in "ab"
    }
    assert groups == {"smoke"}
    assert turns.group_of("tests/integration/test_edge.py::test_a") == turns.group_of(
        "tests/integration/test_edge.py::test_b[1]"
    )
    assert turns.group_of("tests/integration/test_image.py::test_a") != turns.group_of(
        "tests/integration/test_image.py::test_b"
    )


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Start a process that takes its turn; all are ended at the end."""
    monkeypatch.setenv("FORGE_BENCH_TEST_TURNS", str(tmp_path))
    started = []

    def start(how: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, how],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def has_its_turn(process: "subprocess.Popen[str]", seconds: float = 60) -> bool:
    """Whether it tells so within these seconds."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return bool(ready) and process.stdout.readline() == "mine\n"


def wait_until_held(lock: Path) -> None:
    while True:
        with lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        time.sleep(0.05)


def test_two_tests_run_side_by_side_and_one_that_is_alone_waits_for_both_and_keeps_others_out(
    worker, tmp_path
):
    one, two = worker("beside"), worker("beside")
    assert has_its_turn(one)
    assert has_its_turn(two)
    alone = worker("alone")
    wait_until_held(tmp_path / "door")
    late = worker("beside")
    one.kill()
    assert not has_its_turn(alone, seconds=1)
    two.kill()
    assert has_its_turn(alone)
    assert not has_its_turn(late, seconds=1)
    alone.kill()
    assert has_its_turn(late)
