"""A tar of plain files with one spelling: the same names and contents give the same bytes, and no other bytes are read.

A reader accepts only the header that the writer makes of a name and a size. So nothing in such an archive is a link, a
folder, a device or an extended header, and no byte of it can change without notice.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from runner.system.bounded_archive import MOST_ENTRIES
from runner.system.paths import portable

_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)
_COPIED = 2**20


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Bytes that lie in a file: ``size`` of them from ``offset`` on."""

    path: Path
    offset: int
    size: int

    @classmethod
    def whole(cls, path: Path) -> "Piece":
        """All bytes of a file."""
        return cls(path=path, offset=0, size=path.stat().st_size)

    def blocks(self) -> Iterator[bytes]:
        """The bytes, in blocks.

        Raises:
            ValueError: the file ends before them.
        """
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = self.size
            while left:
                block = file.read(min(_COPIED, left))
                if not block:
                    raise ValueError(f"{self.path} ends {left} bytes too early")
                left -= len(block)
                yield block

    def sha256(self) -> str:
        """The hex digest of the bytes, which are read for it once.

        Raises:
            ValueError: the file ends before them.
        """
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        digest = hashlib.sha256()
        for block in self.blocks():
            digest.update(block)
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file of an archive, and where its bytes lie in it."""

    name: str
    content: Piece


def write_member(archive: BinaryIO, name: str, content: bytes | Piece) -> None:
    """Append one file to an archive.

    Raises:
        ValueError: the name or the size does not fit into a plain header.
    """
    size = len(content) if isinstance(content, bytes) else content.size
    archive.write(_header(name, size))
    for block in (content,) if isinstance(content, bytes) else content.blocks():
        archive.write(block)
    archive.write(bytes(-size % _BLOCK))


def write_end(archive: BinaryIO) -> None:
    """Write what follows the last file."""
    archive.write(_END)


def read_members(path: Path) -> Iterator[Member]:
    """The files of an archive, in their order. Only headers are read.

    Raises:
        ValueError: a byte outside the contents is not what the writer would have written; the message says where.
        OSError: the archive cannot be read.
    """
    before, size_of_file = "the beginning", path.stat().st_size
    with path.open("rb") as archive:
        for _ in range(MOST_ENTRIES + 1):
            header = archive.read(_BLOCK)
            if header == bytes(_BLOCK):
                if archive.read() != bytes(_BLOCK):
                    raise ValueError(f"after {before} comes more than an end")
                return
            name, size = _name_and_size(header, before)
            start = archive.tell()
            if start + size > size_of_file:
                raise ValueError(f"{name} is cut off")
            archive.seek(start + size)
            if archive.read(-size % _BLOCK) != bytes(-size % _BLOCK):
                raise ValueError(f"the bytes that fill up the last block of {name} are not zero")
            yield Member(name=name, content=Piece(path=path, offset=start, size=size))
            before = name
    raise ValueError(f"there are more than {MOST_ENTRIES} files")


def _header(name: str, size: int) -> bytes:
    if not all(map(portable, name.split("/"))):
        raise ValueError(f"{name!r} is no path that means the same on every system")
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT)


def _name_and_size(header: bytes, before: str) -> tuple[str, int]:
    try:
        entry = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        if _header(entry.name, entry.size) == header:
            return entry.name, entry.size
    except (tarfile.TarError, ValueError):
        pass
    raise ValueError(f"after {before} comes no header of a plain file")


def packed(files: dict[str, bytes]) -> bytes:
    """Small files as one archive in memory, sorted by name. Their names may be any that a tar can hold."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()
