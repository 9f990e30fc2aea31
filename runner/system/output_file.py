"""Files that a user names: written whole or not at all, and never over what is no file."""

import contextlib
import os
from pathlib import Path
from uuid import uuid4

from runner.system.errors import UsageError
from runner.system.paths import resolved


def write_output(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``; a file that is there is replaced at once, a device or a pipe is written into.

    Raises:
        UsageError: ``path`` is a folder, or its folder is not there.
        OSError: the system refuses; the old file is untouched then.
    """
    target = resolved(path)
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(
            what=f"{path} cannot be written",
            why="it is a folder" if target.is_dir() else f"there is no folder {target.parent}",
            fix="name a file in a folder that exists",
        )
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.write(content)
        return
    part = target.parent / f".{target.name[:100]}-{uuid4().hex}"
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            # Some file systems have one mode for all files, and refuse to change it.
            with contextlib.suppress(OSError):
                part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
