"""Files have the mode that the user's umask leaves, also where a file system changes none afterwards."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.records.store import Store
from runner.running.inputs import inputs_of_launch
from runner.system.files import write_atomically
from runner.system.output_file import write_output


@pytest.fixture(params=[0o022, 0o077, 0o002])
def left(request: pytest.FixtureRequest) -> Iterator[int]:
    """What the umask leaves of the mode of a file that anybody may read and write."""
    before = os.umask(request.param)
    yield 0o666 & ~request.param
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_file_of_a_results_folder_keeps_the_umask(tmp_path: Path, left: int) -> None:
    source = tmp_path / "made"
    source.mkdir()
    (source / "y.npy").write_bytes(b"y")
    store = Store(tmp_path / "results")
    store.write_probe("sha256:ab", {"python": None})
    store.save_files("references", "key", source)
    write_atomically(store.log_path("launch"), "text")
    write_output(tmp_path / "table.csv", b"a,b")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {mode(path) for path in files} == {left}
    assert {mode(path) & ~left & 0o666 for path in store.root.rglob("*") if path.is_dir()} == {0}


def test_the_copies_that_a_launch_reads_are_read_only_and_keep_the_umask(tmp_path: Path, left: int) -> None:
    (tmp_path / "kept" / "n=4" / "deep").mkdir(parents=True)
    (tmp_path / "kept" / "n=4" / "deep" / "x.npy").write_bytes(b"x")
    given = inputs_of_launch(tmp_path / "kept", ["n=4"], tmp_path / "given")
    copy = given / "n=4" / "deep" / "x.npy"
    assert copy.read_bytes() == b"x"
    assert mode(copy) == 0o444 & left


def test_an_output_that_is_replaced_keeps_its_own_mode(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.touch()
    path.chmod(0o640)
    write_output(path, b"new")
    assert (mode(path), path.read_bytes()) == (0o640, b"new")


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP])
def test_a_file_system_that_changes_no_mode_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "table.csv"
    path.touch()
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "x.npy").write_bytes(b"x")
    for name in ("chmod", "fchmod", "lchmod"):
        monkeypatch.setattr(os, name, refuse, raising=False)
    write_output(path, b"new")
    store = Store(tmp_path / "results")
    write_atomically(store.log_path("launch"), "text")
    kept = store.save_files("inputs", "key", tmp_path / "made")
    given = inputs_of_launch(kept.parent, ["key"], tmp_path / "given")
    assert path.read_bytes() == b"new"
    assert (given / "key" / "x.npy").read_bytes() == b"x"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_whose_folders_cannot_be_synchronised_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    fsync = os.fsync

    def only_files(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_atomically(tmp_path / "folder" / "x", "text")
    assert (tmp_path / "folder" / "x").read_text() == "text"
