"""Output files that a user names. They are written whole or not at all, and never replace a folder or a device."""

import contextlib
import os
from pathlib import Path
from uuid import uuid4

from runner.system.errors import OutputLost, UsageError
from runner.system.paths import resolved


def write_output(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``. An existing file is replaced at once; a device or a pipe is written into.

    Raises:
        UsageError: ``path`` is a folder, or its folder is not there.
        OutputLost: ``path`` is a pipe, and its reader left.
        OSError: the system refuses; the old file is untouched then.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        _write_into(path, content)
        return
    target = resolved(path)
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(
            what=f"{path} cannot be written",
            why="it is a folder" if target.is_dir() else f"there is no folder {target.parent}",
            fix="name a file in a folder that exists",
        )
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


def _write_into(path: Path, content: bytes) -> None:
    """The name as it was given: the target of ``/dev/fd/63`` in a shell's ``>(command)`` has no path."""
    try:
        with path.open("wb") as file:
            file.write(content)
    except BrokenPipeError as error:
        raise OutputLost(
            what=f"the output could not be written to {path}",
            why="the program that read this pipe left before the end",
            fix="let it read to the end, or name a file",
        ) from error
