"""Ctrl-C once, twice and three times, in real processes."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from runner.system.orphans import end_orphans, owner_environment

ROOT = Path(__file__).parents[3]
COMMON = """
import os, select, signal, sys, time
sys.path.insert(0, sys.argv[1])
# As a shell starts a program, whatever nohup or a background job has these tests ignore.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from runner.system.signals import die_with_parent, stop_on_signals, uninterrupted
stop_on_signals()
def say(text):
    print(text, flush=True)
def wait():
    say("waiting")
    # A signal that comes just before a system call is heard after it: none may last.
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        pass
    sys.stdin.readline()
"""


class Program:
    """A Python program that says when it has come to a point, and waits there for a line."""

    def __init__(self, body: str, **options) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMON + dedent(body), str(ROOT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def hear(self) -> str:
        return self.process.stdout.readline().strip()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def go_on(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


TIDY = """
    try:
        wait()
    except KeyboardInterrupt:
        say("tidying up")
        wait()
        say("tidy")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_wish_to_stop_is_an_interrupt_and_the_second_is_answered_with_a_line(number):
    program = Program(TIDY)
    assert program.hear() == "waiting"
    program.send(number)
    assert program.hear() == "tidying up"
    assert program.hear() == "waiting"
    program.send(signal.SIGINT)
    assert program.process.stderr.readline() == "\n"
    assert "stopping" in program.process.stderr.readline()
    program.go_on()
    code, out, err = program.end()
    assert (code, out) == (0, "tidy\n"), err


def test_the_third_ends_the_process_at_once():
    program = Program(TIDY)
    assert [program.hear(), program.send(signal.SIGINT), program.hear(), program.hear()][2:] == [
        "tidying up",
        "waiting",
    ]
    program.send(signal.SIGINT)
    program.process.stderr.readline()
    assert "stopping" in program.process.stderr.readline()
    program.send(signal.SIGINT)
    code, out, _ = program.end()
    assert (code, out) == (-signal.SIGINT, "")


def test_what_must_not_be_cut_in_two_is_finished_first():
    program = Program("""
        try:
            with uninterrupted():
                with uninterrupted():
                    wait()
                    say("whole")
                say("outer")
            say("too far")
        except KeyboardInterrupt:
            say("then stopped")
    """)
    assert program.hear() == "waiting"
    program.send(signal.SIGTERM)
    program.send(signal.SIGINT)
    program.go_on()
    code, out, err = program.end()
    assert (code, out) == (0, "whole\nouter\nthen stopped\n"), err


def test_a_third_wish_is_not_held_back():
    program = Program("""
        seen = []
        try:
            with uninterrupted():
                say("waiting")
                for _ in range(3):
                    sys.stdin.readline()
                    say("heard")
                say("too far")
        except KeyboardInterrupt:
            say("stopped")
    """)
    assert program.hear() == "waiting"
    for _ in range(2):
        program.send(signal.SIGINT)
        program.go_on()
        assert program.hear() == "heard"
    program.send(signal.SIGINT)
    code, out, err = program.end()
    assert (code, out) == (0, "stopped\n"), err


FINALISER = """
    class Slow:
        def __del__(self):
            wait()
    try:
        Slow()
        time.sleep(60)
        say("too far")
    except KeyboardInterrupt:
        say("stopped")
"""


def test_an_interrupt_that_a_finaliser_swallows_is_raised_again_after_it():
    program = Program(FINALISER)
    assert program.hear() == "waiting"
    program.send(signal.SIGINT)
    code, out, err = program.end()
    assert (code, out, err) == (0, "stopped\n", "")


def test_what_else_a_finaliser_raises_is_still_shown():
    program = Program("""
        class Wrong:
            def __del__(self):
                raise ValueError("a defect")
        Wrong()
    """)
    code, _, err = program.end()
    assert code == 0
    assert "a defect" in err


def test_an_interrupt_that_is_raised_again_waits_for_what_must_not_be_cut_in_two():
    program = Program("""
        class Slow:
            def __del__(self):
                wait()
        try:
            Slow()
            with uninterrupted():
                time.sleep(0.5)
                say("whole")
            say("too far")
        except KeyboardInterrupt:
            say("stopped")
    """)
    assert program.hear() == "waiting"
    program.send(signal.SIGINT)
    code, out, err = program.end()
    assert (code, out, err) == (0, "whole\nstopped\n", "")


def test_what_the_caller_ignores_stays_ignored():
    program = Program("""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        stop_on_signals()
        with uninterrupted():
            wait()
        say("went on")
    """)
    assert program.hear() == "waiting"
    program.send(signal.SIGINT)
    program.send(signal.SIGHUP)
    program.go_on()
    assert program.end()[:2] == (0, "went on\n")


PARENT = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], preexec_fn=die_with_parent())
    say(child.pid)
    wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a child ask to die with its parent")
def test_a_child_dies_with_a_parent_that_is_killed():
    program = Program(PARENT)
    child = psutil.Process(int(program.hear()))
    assert child.is_running()
    program.process.kill()
    program.process.wait()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


ORPHAN = """
    import subprocess
    from runner.system.orphans import owner_environment
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True,
        env={**os.environ, **owner_environment()},
    )
    say(child.pid)
    wait()
"""


def test_processes_of_a_dead_runner_are_ended_and_those_of_a_living_one_are_not():
    program = Program(ORPHAN)
    orphan = psutil.Process(int(program.hear()))
    mine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=owner_environment())
    try:
        end_orphans()
        assert orphan.is_running()
        program.process.kill()
        program.process.wait()
        # Any other runner on this machine may have been first.
        end_orphans()
        psutil.wait_procs([orphan], timeout=30)
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert mine.poll() is None
    finally:
        mine.kill()
        mine.wait()
