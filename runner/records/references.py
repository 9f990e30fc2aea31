"""The kept outputs of references: each under the hash of its own files, and hashed again whenever it is used.

    references/<key>/<content>/…     <content> is the hash of the names and hashes of the files in it

A key has one content at a time, that of the last launch. So nobody is compared with the outputs of an earlier one, and
an overwritten file is noticed.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.records.record import content_hash
from runner.records.record_file import unreadable
from runner.records.store import Store
from runner.system.errors import StoreError
from runner.system.files import PART, folder, writing_errors
from runner.system.hashes import file_hashes

AREA = "references"
# What a referee drew lies beside the outputs, and is none of them.
DRAW = "referee.json"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The kept outputs of one reference: where they lie, and the hash of each file as it is now."""

    path: Path
    files: Mapping[str, str]

    @property
    def intact(self) -> bool:
        """Whether these are the files that were kept."""
        return self.path.name == content_hash(dict(self.files))

    def are(self, outputs: Mapping[str, str]) -> bool:
        """Whether these are the outputs that a record names."""
        return self.intact and {name: each for name, each in self.files.items() if name != DRAW} == outputs


def keep(store: Store, key: str, outputs: Path) -> Path:
    """Keep these outputs under a key, in the place of any earlier ones; return their folder.

    Raises:
        NoSpace, StoreError: they cannot be kept; the earlier ones are left then.
    """
    content = content_hash(file_hashes(outputs))
    target = store.save_files(AREA, key, outputs, content)
    if not _hashed(target).intact:
        # Somebody altered the files of this name, so they are written again.
        _remove(target)
        target = store.save_files(AREA, key, outputs, content)
    for path in _contents(target.parent):
        if path != target:
            _remove(path)
    return target


def forget(store: Store, key: str) -> None:
    """Keep nothing under a key: its last launch gave no outputs that anybody may be compared with."""
    if store.files(AREA, key) is not None:
        _remove(store.place(AREA, key))


def kept(store: Store, key: str) -> Kept | None:
    """What is kept under a key, hashed now; None where nothing is, or more than one launch's outputs are.

    Raises:
        StoreError: a file cannot be read.
    """
    above = store.files(AREA, key)
    if above is None:
        return None
    found = _contents(above)
    return _hashed(found[0]) if len(found) == 1 and found[0].is_dir() else None


def usable(store: Store, key: str) -> Path | None:
    """The folder of the outputs that are kept under a key, for a gate; None where none are.

    Raises:
        StoreError: they were altered since they were kept, or cannot be read.
    """
    found = kept(store, key)
    if found is None:
        return None
    if not found.intact:
        raise StoreError(
            what=f"the kept outputs of a reference were altered: {found.path}",
            why="their hashes are not those under which they were kept, and gates compare with them",
            fix="run the command again: the reference is then run again",
        )
    return found.path


def _contents(directory: Path) -> list[Path]:
    """What lies under a key, without unfinished files."""
    try:
        return [Path(entry.path) for entry in folder(directory) if not entry.name.startswith(PART)]
    except OSError as error:
        raise unreadable(directory, error) from error


def _hashed(path: Path) -> Kept:
    try:
        return Kept(path=path, files=file_hashes(path))
    except OSError as error:
        raise unreadable(path, error) from error


def _remove(path: Path) -> None:
    with writing_errors(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
