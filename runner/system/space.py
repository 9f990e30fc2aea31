"""How a full disk is recognised, in all its wordings."""

import contextlib
import errno
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runner.system.caller_limits import NO_TEMPORARY, exhausted, place_of
from runner.system.errors import ForgeBenchError, NoSpace, StoreError

_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
# Memory and processes are not in this list: a launch that meets its own limits prints the same words.
_EXHAUSTED = re.compile(r"too many open files|input/output error", re.IGNORECASE)
_FULL_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
# The errors that a host can cause. Any other error of the system is a defect of forge-bench, and is shown as one.
_REFUSED = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EIO,
)


def is_full(said: str) -> bool:
    """Whether a message says that a disk or a quota is used up."""
    return _FULL.search(said) is not None


def is_exhausted(said: str) -> bool:
    """Whether a message says that a machine has too few open files, or a broken disk."""
    return _EXHAUSTED.search(said) is not None


def takes(directory: Path, count: int) -> bool:
    """Whether so many bytes can still be written below ``directory``.

    It writes them, because only a write reveals a quota.
    """
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
        fix="find what fills the disk (df -h, docker system df), then free some space: forge-bench clean, "
        "or use another disk with --results and TMPDIR",
    )


def refused(error: OSError) -> ForgeBenchError | None:
    """The typed error for a refusal of the operating system; None where the host is not at fault.

    Every command ends in this check, because a disk may fill or a file become unreadable at any moment.
    """
    said = str(error)
    if error.errno in _FULL_NUMBERS or is_full(said):
        where = _place(error)
        return no_space(f"writing{f' {where}' if where else ''} failed", f"{_strerror(error)}{_free(where)}")
    if limited := exhausted(error):
        return limited
    if NO_TEMPORARY in said:
        return StoreError(
            what="no temporary file can be written",
            why=_strerror(error),
            fix="free space there (df -h), or name a directory that this user may write to: TMPDIR=DIR",
        )
    if error.errno in _REFUSED:
        where = _place(error)
        return StoreError(
            what=f"{where or 'a file'} cannot be used",
            why=_strerror(error),
            fix="make it readable and writable for this user, or give another directory with --results",
        )
    return None


@contextlib.contextmanager
def typed_refusals() -> Iterator[None]:
    """Around what catches errors of forge-bench: a refusal of the operating system is one of them.

    Raises:
        ForgeBenchError: the host refused something. A defect of forge-bench stays an OSError.
    """
    try:
        yield
    except OSError as error:
        typed = refused(error)
        if typed is None:
            raise
        raise typed from error


def _place(error: OSError) -> Path | None:
    name = place_of(error)
    return None if name is None else Path(name)


def _strerror(error: OSError) -> str:
    # A copy of many files raises one error with a list of tuples. The first tuple is enough.
    return error.strerror or " ".join(str(error).split())[:200]


def _free(place: Path | None) -> str:
    for directory in (place, *place.parents) if place else ():
        try:
            return f"; {shutil.disk_usage(directory).free / 2**20:.0f} MiB are free there"
        except OSError:
            continue
    return ""
