"""Temporary directories of a launch or of a generator: they name their owner, so that a later runner can remove them."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runner.system.owner import Fate, Owner
from runner.system.signals import uninterrupted

_PREFIX = "forge-bench-"


@contextlib.contextmanager
def scratch_directory(purpose: str) -> Iterator[Path]:
    """An empty directory below the system's temporary one, gone at the end of the block."""
    made: Path | None = None
    try:
        # A wish to stop waits for both: a directory must not be made unknown to us, nor half removed.
        with uninterrupted():
            made = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-{Owner.current()}-"))
        yield made
    finally:
        if made is not None:
            with uninterrupted():
                shutil.rmtree(made, ignore_errors=True)


def abandoned_scratch() -> tuple[Path, ...]:
    """The directories of this user's runners that are gone; nothing is removed.

    One of another boot or of a container that shares the directory cannot be judged from here and stays: the
    system empties its temporary directory by itself.
    """
    found = []
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = Owner.named_in(path.name)
        if owner is None or owner.fate is not Fate.DEAD:
            continue
        with contextlib.suppress(OSError):
            # Anybody may make names in there: only our own real directories are touched, and no link is followed.
            if not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.getuid():
                found.append(path)
    return tuple(found)


def sweep_scratch() -> tuple[Path, ...]:
    """Remove the directories of this user's runners that are gone; returns what was removed."""
    removed = []
    for path in abandoned_scratch():
        with contextlib.suppress(OSError):
            shutil.rmtree(path)
            removed.append(path)
    return tuple(removed)
