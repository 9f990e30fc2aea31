"""The probe's program, really executed: on this processor, and on the others that this kernel emulates."""

import subprocess
from pathlib import Path

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
