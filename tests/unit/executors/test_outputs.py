"""What an output directory may hold."""

import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.executors.outputs import (
    MOST_FILES,
    Intake,
    empty,
    most_bytes,
    overfull_directory,
    refuse_directory,
)
from runner.matrix import Limits
from runner.records.failure import FailureKind

MOST = 2**20
FILE, FOLDER = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755


def kind(failure) -> FailureKind | None:
    return None if failure is None else failure.kind


def test_plain_files_in_plain_folders_are_taken(tmp_path):
    (tmp_path / "T=128").mkdir()
    (tmp_path / "T=128" / "advantages.npy").write_bytes(bytes(1000))
    assert refuse_directory(tmp_path, MOST) is None
    assert overfull_directory(tmp_path, MOST) is None


def test_links_pipes_sockets_and_odd_names_are_refused_without_being_touched(tmp_path):
    def link(path: Path) -> None:
        path.symlink_to("/etc/passwd")

    def pipe(path: Path) -> None:
        os.mkfifo(path)

    def listener(path: Path) -> None:
        socket.socket(socket.AF_UNIX).bind(str(path))

    def odd(path: Path) -> None:
        (path.parent / "..\\x").touch()

    for number, make in enumerate((link, pipe, listener, odd)):
        directory = tmp_path / str(number)
        directory.mkdir()
        make(directory / "y.npy")
        assert kind(refuse_directory(directory, MOST)) is FailureKind.FORBIDDEN_OUTPUT, make.__name__
        assert overfull_directory(directory, MOST) is None
        empty(directory)
        assert list(directory.iterdir()) == []
    assert Path("/etc/passwd").exists()


@given(
    parts=st.lists(
        st.text(min_size=1, max_size=12).filter(lambda text: "/" not in text), min_size=1, max_size=12
    )
)
def test_a_path_that_is_taken_stays_below_the_directory(parts):
    if Intake(MOST).refuse(parts, FILE, 0) is None:
        below = Path("/outputs").joinpath(*parts)
        assert os.path.normpath(below) == str(below)
        assert below.is_relative_to("/outputs")
        assert len(parts) <= 8
        assert below.name.isascii()


@given(sizes=st.lists(st.integers(min_value=0, max_value=MOST // 2), max_size=40))
def test_files_are_taken_while_their_pages_leave_room(sizes):
    intake = Intake(MOST)
    taken = 0
    for number, size in enumerate(sizes):
        failure = intake.refuse((str(number),), FILE, size)
        taken += -(-size // 4096) * 4096
        assert kind(failure) is (FailureKind.TOO_LARGE_OUTPUT if taken >= MOST else None)
        if failure:
            break


def test_folders_count_as_files_and_the_last_that_fits_is_taken():
    intake = Intake(MOST)
    for number in range(MOST_FILES):
        assert intake.refuse((str(number),), FOLDER, 4096) is None
    assert kind(intake.refuse(("more",), FOLDER, 4096)) is FailureKind.TOO_MANY_FILES


@pytest.mark.parametrize(("first", "second"), [("x.npy", "X.npy"), ("T=1/y.npy", "t=1/y.npy"), ("ab", "Ab")])
def test_two_names_that_differ_in_case_alone_are_one_file_and_the_second_is_refused(first, second):
    for one, other in ((first, second), (second, first)):
        intake = Intake(MOST)
        assert intake.refuse(one.split("/"), FILE, 0) is None
        failure = intake.refuse(other.split("/"), FILE, 0)
        assert kind(failure) is FailureKind.FORBIDDEN_OUTPUT
        assert failure.detail == f"{one} and {other} are one file, here or on another system"


def test_a_link_is_named_with_its_target_and_neither_followed_nor_taken(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "y.npy").write_bytes(bytes(1000))
    for number, target in enumerate((outside / "y.npy", outside, tmp_path / "nowhere")):
        outputs = tmp_path / str(number)
        outputs.mkdir()
        (outputs / "link").symlink_to(target)
        failure = refuse_directory(outputs, MOST)
        assert kind(failure) is FailureKind.FORBIDDEN_OUTPUT
        assert failure.detail == f"link is a link to {target}"


@given(link=st.text(max_size=300))
def test_the_target_of_a_link_is_shown_on_one_short_line(link):
    failure = Intake(MOST).refuse(("x",), stat.S_IFLNK, 0, link)
    assert failure.detail.isprintable()
    assert len(failure.detail) < 402


def test_half_of_the_memory_or_a_gibibyte_whichever_is_less():
    def limits(memory: int) -> Limits:
        return Limits(name="x", cpus=1, memory_bytes=memory, pids=1, threads=1)

    assert most_bytes(limits(512 * 2**20)) == 256 * 2**20
    assert most_bytes(limits(64 * 2**30)) == 2**30


@pytest.mark.parametrize("depth", [1, 3000])
def test_a_folder_is_emptied_however_deep_and_whatever_its_modes(tmp_path, depth):
    here = tmp_path / "outputs"
    here.mkdir()
    before = Path.cwd()
    try:
        os.chdir(here)
        for _ in range(depth):
            os.mkdir("d")  # noqa: PTH102 (below what a path can say)
            os.chdir("d")
        Path("file").touch()
    finally:
        os.chdir(before)
    (here / "d").chmod(0)
    empty(here)
    assert list(here.iterdir()) == []
