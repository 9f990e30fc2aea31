"""From a file to the record in it: by its own content hash, by the schema, and to the letter."""

import errno
import json
import os
import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from runner.records.record import SCHEMA, SCHEMA_VERSION, Record, is_intact
from runner.system.bounded_reading import read_bounded
from runner.system.errors import NewerRecord, StoreError
from runner.system.schema import schema

# A measurement may fill 64 MiB of stdout, and a record writes each of its figures on a line of its own.
_LARGEST = 512 * 2**20


def read_record(path: Path) -> Record:
    """The record in a file.

    Raises:
        ValueError: there is none, or it was altered; the message says what.
        NewerRecord: a later version of forge-bench wrote it.
        OSError: the file cannot be read.
    """
    try:
        data = json.loads(
            read_bounded(path, _LARGEST),
            object_pairs_hook=_without_doubles,
            parse_float=_as_written,
            parse_constant=_as_written,
        )
        if not isinstance(data, dict) or "content_sha256" not in data:
            raise ValueError("it is not a record: it has no content hash")
        if not is_intact(data):
            raise ValueError("its content does not match its own hash: it was altered or cut off")
    except RecursionError as error:
        raise ValueError("it is nested more deeply than any record") from error
    version = data.get("schema")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerRecord(
            what=f"{path} was written by a newer version of forge-bench",
            why=f"its schema is {version}, and this version reads up to {SCHEMA_VERSION}",
            fix="update forge-bench (git pull), or give another results directory with --results",
        )
    # Anybody can seal anything: whoever reads on from here relies on the form.
    if not schema(SCHEMA).allows(data):
        raise ValueError(f"its hash is right, but it is not a record: {schema(SCHEMA).why_not(data)}")
    return Record(data=data)


def _without_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A person reads the first of two equal keys, a parser the last: such a file says two things."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it holds a key twice: it was altered")
    return found


# Kept, because most numbers of a record are returns and lengths of episodes, over and over the same.
@lru_cache(maxsize=4096)
def _as_written(text: str) -> float:
    """The last of seventeen digits may change and the number stay the same: that too is an alteration."""
    number = float(text)
    if repr(number) != text:
        raise ValueError(f"the number {text} is not written as it was sealed: it was altered")
    return number


def unreadable(path: Path, error: OSError) -> StoreError:
    """The error for what the system refuses to read: it is no word about the record."""
    closed = error.errno in (errno.EACCES, errno.EPERM)
    return StoreError(
        what=f"{path} cannot be read",
        why=f"{error.strerror or error} (user id {os.getuid()})",
        fix=f"let this user read it: sudo chown -R {os.getuid()} {shlex.quote(str(path.parent))}"
        if closed
        else "see that the disk is there and whole, and call again",
    )


def says_no_record(error: OSError | ValueError) -> bool:
    """Whether a failure to read a record is a word about the file, and not about its disk or its owner."""
    return isinstance(error, ValueError) or error.errno in (errno.EINVAL, errno.EFBIG, errno.EISDIR)
