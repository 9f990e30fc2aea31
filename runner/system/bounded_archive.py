"""Tar archives of unknown origin. A header that claims gigabytes is refused before any memory is allocated for it."""

import tarfile
from typing import Self

# An image has hundreds at the most. Each is kept, and takes more memory than its header in the file.
MOST_ENTRIES = 20_000

# Names, links and extended attributes; those of an image's files are a few hundred bytes.
_LARGEST_HEADER = 2**20
_READ_WHOLE = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)


class BoundedTarInfo(tarfile.TarInfo):
    """An entry: ``tarfile.open(…, tarinfo=BoundedTarInfo)``."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The entry of a header block.

        Raises:
            tarfile.ReadError: the header describes the next entry in more bytes than any name needs.
        """
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in _READ_WHOLE and entry.size > _LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {entry.size} bytes")
        return entry


class BoundedTarFile(tarfile.TarFile):
    """An archive whose entries are kept: ``BoundedTarFile.open(…)``."""

    tarinfo = BoundedTarInfo

    def next(self) -> tarfile.TarInfo | None:
        """The next entry.

        Raises:
            tarfile.ReadError: there are more than any image has.
        """
        entry = super().next()
        if len(self.members) > MOST_ENTRIES:  # type: ignore[attr-defined]  # typeshed knows of no list
            raise tarfile.ReadError(f"more than {MOST_ENTRIES} entries")
        return entry
