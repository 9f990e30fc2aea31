"""Read the record in a file, and check its content hash, its type, each written number, and its fields by each other.

Nothing else reads a record's text.
"""

import errno
import json
import os
import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import ValidationError

from runner.records.audit import audit, contradictions_in_words
from runner.records.key import newest_key_version
from runner.records.measured import MOST_EPISODES
from runner.records.record import SCHEMA_VERSION, Record, is_intact, record_of
from runner.system.bounded_reading import read_bounded
from runner.system.errors import ContradictoryRecord, NewerRecord, StoreError
from runner.system.printable import one_line

# A measurement may fill 64 MiB of stdout, and a record writes each figure on its own line.
_LARGEST = 512 * 2**20
_LONGEST_FAULT = 300
_LONGEST_CONTRADICTION = 1000
# An object for each episode, a list for each metric, a comma behind each of both and behind each figure, of which stdout
# holds one in two bytes at the most; and what texts may hold.
_MOST = {b"{": MOST_EPISODES + 2**17, b"[": 2**17, b",": 2**25 + 4 * MOST_EPISODES}


class SelfContradiction(ValueError):
    """A record has its form and the right hash, and its fields cannot all be true."""


def read_record(path: Path) -> Record:
    """The record in a file.

    Raises:
        SelfContradiction: its fields contradict each other; the message says which.
        ValueError: there is none, or it was altered; the message says what.
        NewerRecord: a later version of forge-bench wrote it.
        OSError: the file cannot be read.
    """
    return parse_record(read_bounded(path, _LARGEST), place=str(path))


def parse_record(text: bytes, *, place: str = "a record") -> Record:
    """The record that ``text`` holds. ``place`` is where it lies, for messages.

    Raises:
        SelfContradiction: its fields contradict each other; the message says which.
        ValueError: there is none, or it was altered; the message says what.
        NewerRecord: a later version of forge-bench wrote it.
    """
    _require_few(text)
    try:
        data = json.loads(
            text,
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
            what=f"{place} was written by a newer version of forge-bench",
            why=f"its schema is {version}, and this version reads up to {SCHEMA_VERSION}",
            fix="update forge-bench (git pull), or give another results directory with --results",
        )
    # A seal alone proves no form, and all later code relies on the form.
    try:
        record = record_of(data)
    except ValidationError as error:
        why = one_line(str(error), _LONGEST_FAULT)
        raise ValueError(f"its hash is right, but it is not a record: {why}") from error
    _require_known_rules(record, place)
    if found := audit(record):
        why = one_line(contradictions_in_words(found), _LONGEST_CONTRADICTION)
        raise SelfContradiction(f"its hash is right, but it contradicts itself: {why}")
    return record


def _require_known_rules(record: Record, place: str) -> None:
    """See that the key can be made again.

    Raises:
        NewerRecord: a later version made it.
    """
    if record.made_by_rules > newest_key_version():
        raise NewerRecord(
            what=f"{place} was written by a newer version of forge-bench",
            why=f"rules {record.made_by_rules} made its key, and this version knows up to {newest_key_version()}",
            fix="update forge-bench (git pull), or give another results directory with --results",
        )


def _require_few(text: bytes) -> None:
    """Count what the text would be made into before anything is: an empty object takes thirty times its two bytes.

    Raises:
        ValueError: it is more than any record holds.
    """
    for sign, most in _MOST.items():
        if text.count(sign) > most:
            raise ValueError(f"it holds more than {most} times {sign.decode()}, which no record does")


def record_text(record: Record) -> str:
    """The data of a record in a file."""
    return json.dumps(record.plain(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _without_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse two equal keys: a person would read the first, and a parser the last."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it holds one key twice: it was altered")
    return found


# Cached, because most numbers of a record are returns and lengths of episodes, which repeat.
@lru_cache(maxsize=4096)
def _as_written(text: str) -> float:
    """Refuse a number with another last digit, even where the parsed value stays the same."""
    number = float(text)
    if repr(number) != text:
        raise ValueError(f"the number {text} is not written as it was sealed: it was altered")
    return number


def contradictory(place: str, why: str) -> ContradictoryRecord:
    """The error for a record that contradicts itself."""
    return ContradictoryRecord(
        what=f"{place} contradicts itself",
        why=why,
        fix="take the record again from its source; delete one of this machine, and its cell will be run again",
    )


def unreadable(path: Path, error: OSError) -> StoreError:
    """The error for a file that the system refuses to read. It says nothing about the record."""
    closed = error.errno in (errno.EACCES, errno.EPERM)
    return StoreError(
        what=f"{path} cannot be read",
        why=f"{error.strerror or error} (user id {os.getuid()})",
        fix=f"let this user read it: sudo chown -R {os.getuid()} {shlex.quote(str(path.parent))}"
        if closed
        else "check that the disk is mounted and intact, and run the command again",
    )


def says_no_record(error: OSError | ValueError) -> bool:
    """Whether a failure to read a record is the fault of the file, and not of its disk or its owner."""
    return isinstance(error, ValueError) or error.errno in (errno.EINVAL, errno.EFBIG, errno.EISDIR)
