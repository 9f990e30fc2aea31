"""Files written whole or not at all, synced before a call returns, and listed without following links."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from runner.system.caller_limits import exhausted
from runner.system.errors import ForgeBenchError, StoreError
from runner.system.owner import Owner
from runner.system.space import no_space

# The name of an unfinished file begins with this prefix. The owner of the writing process follows.
PART = ".part-"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_OFFERED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS})


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that a reader sees the old file or the whole new one, after any crash too.

    Raises:
        NoSpace, StoreError: it cannot be written; the old file is untouched then.
    """
    with writing_errors(path), part_file(path, text) as part:
        part.replace(path)


def folder(directory: Path) -> list[os.DirEntry[str]]:
    """The entries of ``directory``, sorted by name; none where it is not a folder, or is a link to one."""
    if directory.is_symlink() or not directory.is_dir():
        return []
    with os.scandir(directory) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def tree(directory: Path) -> Iterator[Path]:
    """Every regular file below ``directory``, sorted; links are not followed and not listed."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


@contextlib.contextmanager
def part_file(path: Path, text: str) -> Iterator[Path]:
    """A whole file beside ``path``, already on the disk. The block renames the file to ``path``."""
    make_directory(path.parent)
    part = path.parent / f"{part_prefix()}{uuid4().hex}"
    try:
        # The file is created with the mode that the user's umask leaves. Some file systems refuse to change a mode
        # later.
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield part
        sync_directory(path.parent)
    finally:
        part.unlink(missing_ok=True)


def part_prefix() -> str:
    """How the names of this process's unfinished files begin."""
    return f"{PART}{Owner.current()}-"


def copy_durably(source: Path, target: Path) -> None:
    """Copy the regular files below ``source``; every byte and name is on the disk when this returns."""
    target.mkdir()
    for path in tree(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as original, copy.open("wb") as file:
            shutil.copyfileobj(original, file, 2**20)
            file.flush()
            os.fsync(file.fileno())
    for directory in (target, *(path for path in target.rglob("*") if path.is_dir())):
        sync_directory(directory)


def make_directory(path: Path) -> None:
    """Make ``path`` with its parents; their names are on the disk when this returns."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_directory(each.parent)


def sync_directory(path: Path) -> None:
    """Write a directory's list of names to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems (FUSE, network) cannot sync a directory.
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn any failure to write ``path`` into an error that a user can read."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> ForgeBenchError:
    """The error that tells a user that ``path`` cannot be written."""
    if error.errno in FULL:
        return no_space(f"{path} was not written; finished cells are stored", str(error.strerror))
    if limited := exhausted(OSError(error.errno, error.strerror, str(path))):
        return limited
    return StoreError(
        what=f"{path} cannot be written",
        why=error.strerror or str(error),
        fix="check that the disk is mounted and writable, and run the command again: finished cells are stored",
    )
