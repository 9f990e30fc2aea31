"""Files that are written whole or not at all, on the disk when a call returns, and found without following links."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from runner.system.errors import ForgeBenchError, StoreError
from runner.system.owner import Owner
from runner.system.space import no_space

# What is being written bears this prefix, and the owner of the writing process after it.
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
    """What lies in ``directory``, sorted by name; nothing where that is no folder, or a link to one."""
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
    """A whole file beside ``path``, on the disk already; the block gives it its name."""
    make_directory(path.parent)
    part = path.parent / f"{part_prefix()}{uuid4().hex}"
    try:
        # Made with the mode that the user's umask leaves: some file systems refuse to change one afterwards.
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield part
        sync_directory(path.parent)
    finally:
        part.unlink(missing_ok=True)


def part_prefix() -> str:
    """How the name of a part begins that this process writes."""
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
    """Put the names in a directory on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # A file system that keeps no names by itself (FUSE, a network's) cannot be asked to.
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Whatever goes wrong with writing ``path`` as a failure that a user can read."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> ForgeBenchError:
    """The error that a user reads where ``path`` cannot be written."""
    if error.errno in FULL:
        return no_space(f"{path} was not written; finished cells are stored", str(error.strerror))
    return StoreError(
        what=f"{path} cannot be written",
        why=error.strerror or str(error),
        fix="see that the disk is there and is writable, and call again: finished cells are stored",
    )
