"""Temporary directories of a launch or of a generator. Each names its owner, so that a later runner can remove it."""

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
    """An empty directory below the system's temporary directory. It is removed at the end of the block."""
    made: Path | None = None
    try:
        # An interrupt waits for both steps, so that no directory stays untracked or half removed.
        with uninterrupted():
            made = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-{Owner.current()}-"))
        yield made
    finally:
        if made is not None:
            with uninterrupted():
                shutil.rmtree(made, ignore_errors=True)


def abandoned_scratch() -> tuple[Path, ...]:
    """The directories of this user's dead runners. Nothing is removed.

    A directory of another boot or of a container cannot be judged from here, so it stays. The system empties its
    temporary directory by itself.
    """
    found = []
    # Sockets lie in /tmp whatever the environment says, because their paths must be short.
    places = {Path(tempfile.gettempdir()), Path("/tmp")}  # noqa: S108 (only what its name says is ours)
    for path in (each for place in places for each in place.glob(f"{_PREFIX}*")):
        owner = Owner.named_in(path.name)
        if owner is None or owner.fate is not Fate.DEAD:
            continue
        with contextlib.suppress(OSError):
            # Any user may make entries there: only this user's real directories are touched, and no link is followed.
            if not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.getuid():
                found.append(path)
    return tuple(found)


def sweep_scratch() -> tuple[Path, ...]:
    """Remove the directories of this user's dead runners; return the removed paths."""
    removed = []
    for path in abandoned_scratch():
        with contextlib.suppress(OSError):
            shutil.rmtree(path)
            removed.append(path)
    return tuple(removed)
