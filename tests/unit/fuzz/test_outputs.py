"""What a launch wrote, as the daemon hands it over and as files: nothing of it leaves its directory or ends a run."""

import io
import json
import os
import struct
import tarfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.executors.keeper import Keeper
from runner.executors.outputs import refuse_directory
from runner.gate.arrays import Unreadable, read_arrays
from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind
from runner.records.record import content_hash
from runner.system.hashes import file_hashes
from tests.fuzz.targets import StoredContainer

LIMITS = Limits(name="here", cpus=1, memory_bytes=64 * 2**20, pids=1, threads=1)


def archive(*entries: tuple[str, bytes, str]) -> bytes:
    """A tar archive of entries: name, type, target or content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, text in (("outputs", tarfile.DIRTYPE, ""), *entries):
            entry = tarfile.TarInfo(name)
            entry.type = kind
            content = text.encode() if kind == tarfile.REGTYPE else b""
            entry.size = len(content)
            entry.linkname = "" if kind == tarfile.REGTYPE else text
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def fetch(tmp_path: Path, content: bytes) -> tuple[Failure | None, Path]:
    """Take an archive in; nothing may appear beside the directory for it."""
    outputs = tmp_path / "a" / "b" / "outputs"
    outputs.mkdir(parents=True)
    container: Any = StoredContainer(content)
    failure = Keeper(container, LIMITS, Future()).fetch(outputs)
    for path in tmp_path.rglob("*"):
        assert path.is_relative_to(outputs) or outputs.is_relative_to(path), path
        assert not path.is_symlink()
    return failure, outputs


def test_plain_files_in_plain_folders_are_taken(tmp_path: Path) -> None:
    failure, outputs = fetch(
        tmp_path, archive(("outputs/n=4", tarfile.DIRTYPE, ""), ("outputs/n=4/y.npy", tarfile.REGTYPE, "1"))
    )
    assert failure is None
    assert (outputs / "n=4" / "y.npy").read_text(encoding="utf-8") == "1"


@pytest.mark.parametrize("kind", ["SYMTYPE", "LNKTYPE", "FIFOTYPE", "CHRTYPE", "BLKTYPE"])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../../x", "y.npy"])
def test_links_pipes_and_devices_are_refused_with_everything_else(
    tmp_path: Path, kind: str, target: str
) -> None:
    failure, outputs = fetch(
        tmp_path,
        archive(("outputs/y.npy", tarfile.REGTYPE, "1"), ("outputs/evil", getattr(tarfile, kind), target)),
    )
    assert failure is not None
    assert failure.kind is FailureKind.FORBIDDEN_OUTPUT
    assert not list(outputs.iterdir()), "a refused launch leaves nothing"


@pytest.mark.parametrize(
    "name",
    [
        "outputs/../x", "outputs/../../x", "outputs/..", "outputs/a/../../../x", "/x/y/../../z", "outputs/-rf",
        "outputs/.hidden", "outputs/CON", "outputs/a.", "outputs/a b", "outputs/a\nb", "outputs/a\\b", "outputs/a:b",
        "outputs/\u0430", "outputs/" + "n" * 300, "outputs/" + "d/" * 20 + "x", "outputs/\udcff", "outputs/a\x1b[31m",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_or_nowhere_are_refused(tmp_path: Path, name: str) -> None:
    failure, outputs = fetch(tmp_path, archive((name, tarfile.REGTYPE, "1")))
    assert failure is not None
    assert failure.kind is FailureKind.FORBIDDEN_OUTPUT
    assert failure.detail.isprintable()
    content_hash(failure.detail)
    assert not list(outputs.iterdir())


@pytest.mark.parametrize(
    ("first", "second"),
    [("outputs/y.npy", "outputs/Y.npy"), ("outputs/a", "outputs/A/x"), ("outputs/a", "outputs/a")],
)
def test_names_that_are_one_file_on_some_system_are_refused(tmp_path: Path, first: str, second: str) -> None:
    failure, outputs = fetch(
        tmp_path,
        archive(
            (first, tarfile.REGTYPE, "1"),
            (str(Path(second).parent), tarfile.DIRTYPE, ""),
            (second, tarfile.REGTYPE, "2"),
        )
        if second.count("/") > 1
        else archive((first, tarfile.REGTYPE, "1"), (second, tarfile.REGTYPE, "2")),
    )
    assert failure is not None
    assert not list(outputs.iterdir())


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "elsewhere/x", "//x/y"])
def test_the_first_part_of_a_name_decides_nothing(tmp_path: Path, name: str) -> None:
    """It is the directory's own name, and whatever it is, nothing lands beside the directory."""
    failure, outputs = fetch(tmp_path, archive((name, tarfile.REGTYPE, "1")))
    assert (failure is None) == any(path.is_file() for path in outputs.rglob("*"))


@pytest.mark.parametrize(
    "content", [b"", b"x" * 5000, archive(("outputs/y", tarfile.REGTYPE, "1" * 2000))[:1600]]
)
def test_an_archive_that_is_none_or_breaks_off_is_a_failure_with_a_reason(
    tmp_path: Path, content: bytes
) -> None:
    failure, _ = fetch(tmp_path, content)
    assert failure is None or failure.kind is FailureKind.UNREADABLE_OUTPUT
    if failure is None:
        assert content == b""


def test_what_a_process_leaves_behind_is_judged_by_the_same_rules(tmp_path: Path) -> None:
    for make in (
        lambda path: path.symlink_to("/etc"),
        os.mkfifo,
        lambda path: (path.parent / os.fsdecode(b"\xff\x1b")).write_bytes(b""),
    ):
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        directory.mkdir()
        make(directory / "evil")
        failure = refuse_directory(directory, 2**20)
        assert failure is not None
        assert failure.detail.isprintable()
        content_hash([failure.detail, file_hashes(directory)])


# --- the files themselves -------------------------------------------------------------------------------------------


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header.encode() + data


def safetensors(dtype: str, bytes_each: int) -> bytes:
    header = json.dumps({"a": {"dtype": dtype, "shape": [1], "data_offsets": [0, bytes_each]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(bytes_each)


def zipped() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(3))
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([object]), allow_pickle=True)
    return buffer.getvalue()


SHAPE = "{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("y.npy", b""),
        ("y.npy", b"\x93NUMPY"),
        ("y.npy", npy(SHAPE.format("(1000000000000,)"))),
        ("y.npy", npy(SHAPE.format("(1" + "0" * 40 + ",)"))),
        ("y.npy", npy(SHAPE.format("(-1,)"), bytes(80))),
        ("y.npy", npy(SHAPE.format("(True,)"), bytes(8))),
        ("y.npy", npy("{'descr': '<f8', '''")),
        ("y.npy", npy("(" * 5000)),
        ("y.npy", npy(SHAPE.format("(1,)").replace("<f8", "|O"), bytes(8))),
        ("y.npy", npy(SHAPE.format("(1,)").replace("<f8", "<c16"), bytes(16))),
        ("y.npy", npy(SHAPE.format("(1,)").replace("<f8", "<M8[s]"), bytes(8))),
        ("y.npy", npy(SHAPE.format("(1,)"), bytes(8), b"\x09\x09")),
        ("y.npy", zipped()),
        ("y.npy", pickled()),
        ("y.safetensors", b""),
        ("y.safetensors", b"\xff" * 100),
        ("y.safetensors", struct.pack("<Q", 2**60) + b"{}"),
        ("y.safetensors", safetensors("BF16", 3)),
        ("y.safetensors", safetensors("F8_E8M0", 1)),
        ("y.safetensors", safetensors("C64", 8)),
    ],
)  # fmt: skip
def test_a_file_that_is_no_array_of_numbers_is_unreadable_and_says_why(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        read_arrays(tmp_path / name)
    assert 0 < len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@given(st.sampled_from(["<f4", "<f8", "<i4", "|u1", "|b1"]), st.lists(st.integers(0, 3), max_size=3))
def test_arrays_of_every_shape_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, shape: list[int]
) -> None:
    path = tmp_path_factory.mktemp("array") / "y.npy"
    array = np.ones(shape, dtype)
    np.save(path, array)
    found = read_arrays(path)[""]
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
