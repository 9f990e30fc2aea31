"""A full disk, in whatever words it is met."""

import errno
import re
import shutil
import tempfile
from pathlib import Path

from runner.system.errors import ForgeBenchError, NoSpace, StoreError

_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
# Not memory and processes: of these a launch has limits of its own, and meets them with the same words.
_EXHAUSTED = re.compile(r"too many open files|input/output error", re.IGNORECASE)
_FULL_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
# What a host may refuse without any fault of ours; whatever else the system reports is a defect, and shown as one.
_REFUSED = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
)


def is_full(said: str) -> bool:
    """Whether a message says that a disk or a quota is used up."""
    return _FULL.search(said) is not None


def is_exhausted(said: str) -> bool:
    """Whether a message says that a machine lacks open files, or a disk that works."""
    return _EXHAUSTED.search(said) is not None


def takes(directory: Path, count: int) -> bool:
    """Whether so many bytes can still be written below ``directory``: tried, as a quota is shown by nothing else."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(count))
    except OSError as error:
        return error.errno not in _FULL_NUMBERS
    return True


def no_space(what: str, why: str) -> NoSpace:
    """The error for a full disk.

    Args:
        what: what could not be done.
        why: what the system or the daemon said.
    """
    return NoSpace(
        what=f"{what}: no space left",
        why=why,
        fix="see what takes it: df -h, docker system df; then free some: forge-bench clean, "
        "or give another disk with --results and TMPDIR",
    )


def refused(error: OSError) -> ForgeBenchError | None:
    """The typed error for what the operating system refused; None where it is no fault of the host.

    The last net below every command: a disk may fill, and a file be closed to us, at any moment of a run.
    """
    said = str(error)
    if error.errno in _FULL_NUMBERS or is_full(said):
        where = _place(error)
        return no_space(f"writing{f' {where}' if where else ''} failed", f"{_strerror(error)}{_free(where)}")
    if error.errno in _REFUSED:
        where = _place(error)
        return StoreError(
            what=f"{where or 'a file'} cannot be used",
            why=_strerror(error),
            fix="make it readable and writable for this user, or give another directory with --results",
        )
    return None


def _place(error: OSError) -> Path | None:
    name = error.filename2 or error.filename
    return Path(name) if isinstance(name, str) else None


def _strerror(error: OSError) -> str:
    # A copy of many files collects its errors in one, as tuples; the first says what there is to say.
    return error.strerror or " ".join(str(error).split())[:200]


def _free(place: Path | None) -> str:
    for directory in (place, *place.parents) if place else ():
        try:
            return f"; {shutil.disk_usage(directory).free / 2**20:.0f} MiB are free there"
        except OSError:
            continue
    return ""
