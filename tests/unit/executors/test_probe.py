"""The probe's program, really executed: on this processor, and on the others that this kernel emulates."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

from runner.executors import probe
from runner.host import foreign
from runner.system import machine


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_it_prints_each_file_and_four_zeros(tmp_path: Path, architecture: str) -> None:
    if architecture != machine.architecture() and not foreign.runs(architecture):
        pytest.skip(f"this kernel runs no program for {architecture}")
    path, long, short = tmp_path / "read", tmp_path / "long", tmp_path / "short"
    path.write_bytes(probe.program(architecture))
    path.chmod(0o755)
    # More than the program's buffer holds, and a text that ends in a zero as a device tree's does.
    long.write_bytes(b"x" * 10_000)
    short.write_bytes(b"Raspberry Pi\0")
    result = subprocess.run(
        [str(path), str(long), str(tmp_path / "absent"), str(short)],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert result.stdout == b"x" * 10_000 + bytes(4) + bytes(4) + b"Raspberry Pi\0" + bytes(4)


def test_without_a_file_it_waits(tmp_path: Path) -> None:
    path = tmp_path / "read"
    path.write_bytes(probe.program(machine.architecture()))
    path.chmod(0o755)
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([str(path)], timeout=0.2, check=False)


def test_what_it_prints_is_read_file_by_file() -> None:
    said = b"one\n\0\0\0\0" + b"\0\0\0\0" + b"Raspberry Pi\0" + b"\0\0\0\0"
    assert probe.parsed(said, ("/a", "/b", "/c")) == {"/a": "one", "/c": "Raspberry Pi"}


@pytest.mark.parametrize("said", [b"", b"one\n\0\0\0\0", b"one\n\0\0\0\0two"])
def test_an_answer_without_the_end_of_each_file_is_an_error(said: bytes) -> None:
    with pytest.raises(requests.ConnectionError, match=r"has [01] of 2 files"):
        probe.parsed(said, ("/a", "/b"))


class Daemon:
    """Is told commands, and runs each once."""

    def __init__(self) -> None:
        self.told = 0
        self.run: list[str] = []
        self.refuses: list[Exception] = []

    def tell(self) -> str:
        if self.refuses:
            raise self.refuses.pop()
        self.told += 1
        return str(self.told)

    def read(self, identifier: str) -> Any:
        assert identifier not in self.run
        self.run.append(identifier)
        return {"/a": identifier}.get


def test_what_is_read_again_was_told_before_and_is_read_now() -> None:
    daemon = Daemon()
    again = probe.Again(daemon.tell, daemon.read)
    assert daemon.run == []
    assert [again.read()("/a") for _ in range(3)] == ["1", "2", "3"]


def test_a_daemon_that_refused_the_command_in_advance_is_told_it_again() -> None:
    daemon = Daemon()
    daemon.refuses.append(requests.ConnectionError("it restarted"))
    assert probe.Again(daemon.tell, daemon.read).read()("/a") == "1"
