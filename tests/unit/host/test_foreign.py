"""The smallest programs there are, really executed."""

import subprocess
import sys

import pytest

from runner.host import foreign
from runner.system import machine
from runner.system.elf import executable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the programs are Linux's")


def test_a_program_of_this_machine_runs():
    assert foreign.runs(machine.architecture()) is True


def test_a_program_for_no_machine_does_not(monkeypatch):
    # 0xBEEF is nobody's number in ELF, and no emulator is registered for it.
    monkeypatch.setitem(foreign._PROGRAMS, "arm64", (0xBEEF, b"\0\0\0\0"))
    assert foreign.runs("arm64") is False


def test_a_program_that_answers_something_else_has_not_run(monkeypatch):
    number, code = foreign._PROGRAMS[machine.architecture()]
    other = {"amd64": code.replace(b"\x2a", b"\x2b", 1), "arm64": bytes.fromhex("600580d2") + code[4:]}
    monkeypatch.setitem(foreign._PROGRAMS, machine.architecture(), (number, other[machine.architecture()]))
    assert foreign.runs(machine.architecture()) is False


def test_an_architecture_that_nobody_knows_cannot_be_tried():
    assert foreign.runs("riscv64") is None


def test_the_file_is_what_binutils_would_call_an_executable(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(executable(62, b"\x90"))
    assert path.read_bytes()[:4] == b"\x7fELF"
    assert path.stat().st_size == 64 + 56 + 1


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign.tempfile, "tempdir", str(tmp_path))
    foreign.runs(machine.architecture())
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_hangs_has_not_run(monkeypatch):
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("x", 1)

    monkeypatch.setattr(foreign.subprocess, "run", hang)
    assert foreign.runs(machine.architecture()) is False
