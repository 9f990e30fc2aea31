"""The file of a ledger: lines are appended under a lock, and each is on the disk before the call returns.

Two runs may share a store. Their lines stand in the order in which they were written, and form one chain.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from runner.records.ledger.chain import Chain, chain_of, hash_of, text_of
from runner.records.ledger.lines import FIRST, CutLine, Line, line_of
from runner.system.bounded_reading import read_bounded
from runner.system.errors import DamagedLedger
from runner.system.files import make_directory, sync_directory, writing_errors

LARGEST = 2**28
_BLOCK = 2**16
# Makes a line, given the hash of the line before it and the time.
Maker = Callable[[str, str], Line]


def read_ledger(path: Path) -> Chain:
    """The ledger in a file; one without lines where there is no file.

    Raises:
        DamagedLedger: it cannot be read, or its chain is broken.
    """
    return ledger_of(path, text_in(path))


def text_in(path: Path) -> bytes:
    """The text of a ledger; empty where there is no file.

    Raises:
        DamagedLedger: it cannot be read.
    """
    try:
        return read_bounded(path, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except (OSError, ValueError) as error:
        raise damaged(path, str(error)) from error


def ledger_of(path: Path, text: bytes) -> Chain:
    """The ledger with this text, which was read from ``path``.

    Raises:
        DamagedLedger: its chain is broken.
    """
    try:
        return chain_of(text)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def append(path: Path, make: Maker, *, say: Callable[[str], None] = lambda _: None) -> Line:
    """Append the line that ``make`` returns. The beginning of a line that a crash cut off is put aside first.

    Args:
        path: the ledger, which need not exist.
        make: gets the hash of the line before, and the time.
        say: is told of what was put aside.

    Raises:
        DamagedLedger: the last line is no line of a ledger.
        NoSpace, StoreError: it cannot be written; no part of the line is left then.
    """
    with writing_errors(path), _locked(path) as descriptor:
        _put_aside(path, descriptor, say)
        return _append(path, descriptor, make)


def damaged(path: Path, why: str) -> DamagedLedger:
    """The error for a ledger that is not intact."""
    return DamagedLedger(
        what=f"the ledger {path} is damaged",
        why=why,
        fix="restore the file from a backup; without one, move it away and give a new directory with --results: "
        "what was run here before cannot be published",
    )


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, opened for this process alone among all runners."""
    make_directory(path.parent)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        # The lock ends with the descriptor, after a crash too.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_new:
            sync_directory(path.parent)
        yield descriptor
    finally:
        os.close(descriptor)


def _append(path: Path, descriptor: int, make: Maker) -> Line:
    length, last = os.fstat(descriptor).st_size, _last_line(descriptor)
    if last is not None:
        try:
            line_of(last)
        except ValueError as error:
            raise damaged(path, f"its last line is no line of a ledger: {error}") from error
    line = make(FIRST if last is None else hash_of(last), datetime.now(UTC).isoformat())
    left = memoryview(text_of(line) + b"\n")
    try:
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, length)
        raise
    return line


def _put_aside(path: Path, descriptor: int, say: Callable[[str], None]) -> None:
    """Move the beginning of a line, if the file ends with one, into a file of its own; a line says so."""
    end = os.fstat(descriptor).st_size
    fragment = _after_last_end(descriptor)
    if not fragment:
        return
    digest = hash_of(fragment)
    aside = path.with_name(f"{path.stem}.cut-{digest[:16]}")
    with aside.open("wb") as file:
        file.write(fragment)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)
    os.ftruncate(descriptor, end - len(fragment))
    _append(
        path,
        descriptor,
        lambda previous, time: CutLine(
            previous=previous, time=time, bytes=len(fragment), sha256=digest, kept_as=aside.name
        ),
    )
    say(f"the last line of {path} was cut off by a crash; its {len(fragment)} bytes are kept in {aside}")


def _last_line(descriptor: int) -> bytes | None:
    """The last whole line of a file that ends with one; None where the file is empty."""
    end = os.fstat(descriptor).st_size
    return _back_to_line_end(descriptor, end - 1) if end else None


def _after_last_end(descriptor: int) -> bytes:
    return _back_to_line_end(descriptor, os.fstat(descriptor).st_size)


def _back_to_line_end(descriptor: int, end: int) -> bytes:
    """The bytes before ``end``, from behind the last end of a line on. Only these are read, not the whole file."""
    found, start = b"", end
    while start and b"\n" not in found:
        size = min(_BLOCK, start)
        start -= size
        found = os.pread(descriptor, size, start) + found
    return found.rpartition(b"\n")[2]
