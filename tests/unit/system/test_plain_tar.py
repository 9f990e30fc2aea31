"""An archive of plain files has one spelling, and a reader takes no other."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.plain_tar import Piece, read_members, write_end, write_member

NAMES = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,8}(/[a-z][a-z0-9]{0,8}){0,3}\.x", fullmatch=True), unique=True, max_size=4
)


def written(path: Path, files: dict[str, bytes]) -> Path:
    with path.open("wb") as archive:
        for name, content in files.items():
            write_member(archive, name, content)
        write_end(archive)
    return path


def read(path: Path) -> dict[str, bytes]:
    return {each.name: b"".join(each.content.blocks()) for each in read_members(path)}


@given(names=NAMES, data=st.data())
def test_what_is_written_is_read_again_by_us_and_by_any_other_tar(tmp_path_factory, names, data):
    files = {name: data.draw(st.binary(max_size=1500)) for name in names}
    path = written(tmp_path_factory.mktemp("tar") / "a.tar", files)
    assert read(path) == files
    with tarfile.open(path) as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive} == files


def test_every_byte_outside_the_contents_matters(tmp_path):
    path = written(tmp_path / "a.tar", {"a": b"one", "b/c": b"two"})
    whole = path.read_bytes()
    contents = {512, 513, 514, 1536, 1537, 1538}
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        if place in contents:
            assert len(read(path)) == 2
        else:
            with pytest.raises(ValueError, match=r"."):
                read(path)


@pytest.mark.parametrize("keep", [0, 1, 511, 512, 600, 1023, 1024, 1535, 2047])
def test_an_archive_that_was_cut_off_is_refused(tmp_path, keep):
    path = written(tmp_path / "a.tar", {"a": b"one"})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"."):
        read(path)


def test_more_behind_the_end_is_refused(tmp_path):
    path = written(tmp_path / "a.tar", {"a": b"one"})
    path.write_bytes(path.read_bytes() + bytes(512))
    with pytest.raises(ValueError, match="more than an end"):
        read(path)


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/../b", "a//b", "", ".", "con", "a b", "é"])
def test_a_name_that_leads_elsewhere_is_neither_written_nor_read(tmp_path, name):
    with pytest.raises(ValueError, match="path"):
        write_member(io.BytesIO(), name, b"")
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(ValueError, match="no header of a plain file"):
        read(tmp_path / "a.tar")


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.XHDTYPE],
)
def test_links_folders_devices_and_extended_headers_are_refused(tmp_path, kind):
    entry = tarfile.TarInfo("a")
    entry.type, entry.linkname = kind, "/etc/passwd"
    (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    with pytest.raises(ValueError, match="no header of a plain file"):
        read(tmp_path / "a.tar")


def test_a_header_that_claims_gigabytes_costs_nothing(tmp_path):
    entry = tarfile.TarInfo("a")
    entry.size = 2**32
    (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    with pytest.raises(ValueError, match="a is cut off"):
        read(tmp_path / "a.tar")


def test_a_piece_of_a_file_is_copied_and_one_that_is_too_short_is_refused(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"0123456789")
    with (tmp_path / "a.tar").open("wb") as archive:
        write_member(archive, "a", Piece(path=source, offset=3, size=4))
        write_end(archive)
    assert read(tmp_path / "a.tar") == {"a": b"3456"}
    with pytest.raises(ValueError, match="too early"):
        Piece(path=source, offset=8, size=4).sha256()
