"""Two runners on one machine: whoever comes later waits for the CPUs, and its wait has an end."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.system.cpu_locks import DIRECTORY_VARIABLE, Use, hold
from runner.system.errors import CpusTaken

USE = Use(what="gae-rust", machine="here", seconds=60)
# Another runner: it holds its CPUs until its stdin ends.
HOLDER = """
import sys
from runner.system.cpu_locks import Use, hold
cpus, seconds = [int(each) for each in sys.argv[1].split(",")], float(sys.argv[2])
with hold(cpus, Use(what="dqn-pytorch-amd64-s1", machine="here", seconds=seconds), print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "locks"))
    return tmp_path / "locks"


@contextmanager
def other_runner(cpus: str, *, seconds: float = 60) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDER, cpus, str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def is_free(*cpus: int) -> bool:
    """Whether another process gets these CPUs at once."""
    script = HOLDER.replace("sys.stdin.read()", "")
    command = [sys.executable, "-c", script, ",".join(map(str, cpus)), "1"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=3)
    except subprocess.TimeoutExpired:
        return False
    return True


def test_cpus_are_held_until_the_end_of_the_block_and_no_longer():
    with hold([1, 0], USE, print):
        assert not is_free(0)
        assert not is_free(1, 2)
        assert is_free(2, 3)
    assert is_free(0, 1)


@pytest.mark.parametrize(("theirs", "ours"), [("1", (0, 1)), ("0,1", (1,)), ("2", (2,))])
def test_a_runner_waits_for_a_cpu_that_both_want_and_says_who_has_it(theirs, ours):
    said: list[str] = []
    with other_runner(theirs) as other:
        assert other.stdin is not None

        def say(text: str) -> None:
            said.append(text)
            other.stdin.close()

        with hold(ours, USE, say):
            assert len(said) == 1
    assert f"process {other.pid} (dqn-pytorch-amd64-s1) uses" in said[0]


def test_a_crashed_holder_holds_nothing():
    with other_runner("0") as other:
        other.kill()
        other.wait()
        began = time.monotonic()
        with hold([0], USE, print):
            assert time.monotonic() - began < 5


def test_a_wait_for_a_holder_that_does_not_end_in_time_ends_and_names_it(monkeypatch):
    monkeypatch.setattr("runner.system.cpu_locks._GRACE_SECONDS", 0.0)
    with other_runner("0,1", seconds=0.5) as other:
        with pytest.raises(CpusTaken) as error, hold([1], USE, lambda _: None):
            pytest.fail("it had the CPU")
        assert str(other.pid) in error.value.why
        assert "taskset" in error.value.fix


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"process": "x"}', b"\xff" * 5000])
def test_a_holder_that_says_nothing_readable_is_another_runner(directory, text):
    said: list[str] = []
    with other_runner("0") as other:
        assert other.stdin is not None
        (directory / "here-0").write_bytes(text)

        def say(line: str) -> None:
            said.append(line)
            other.stdin.close()

        with hold([0], USE, say):
            pass
    assert said == ["waiting for CPU 0, which another runner uses"]


def test_control_characters_of_a_holder_reach_no_terminal(directory):
    said: list[str] = []
    with other_runner("0") as other:
        assert other.stdin is not None
        (directory / "here-0").write_text(
            json.dumps({"process": 1, "what": "\x1b[2Jharmless", "until": time.time() + 9})
        )

        def say(line: str) -> None:
            said.append(line)
            other.stdin.close()

        with hold([0], USE, say):
            pass
    assert "\x1b" not in said[0]


def test_cpus_of_another_machine_are_others(directory):
    elsewhere = Use(what="gae", machine="0123abcd", seconds=1)
    with other_runner("0"), hold([0], elsewhere, pytest.fail):
        assert sorted(path.name for path in directory.iterdir()) == ["0123abcd-0", "here-0"]


def test_every_user_may_lock_and_nobody_removes_the_locks_of_others(directory):
    before = os.umask(0o077)
    try:
        with hold([0], USE, print):
            pass
    finally:
        os.umask(before)
    assert directory.stat().st_mode & 0o7777 == 0o1777
    assert (directory / "here-0").stat().st_mode & 0o777 == 0o666


def test_a_directory_that_is_a_trap_is_not_used_and_the_run_goes_on(directory, tmp_path):
    (tmp_path / "target").mkdir()
    directory.symlink_to(tmp_path / "target")
    said: list[str] = []
    with hold([0], USE, said.append):
        assert list((tmp_path / "target").iterdir()) == []
    assert "CPUs cannot be locked" in said[0]
