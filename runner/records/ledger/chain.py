"""The chain: a ledger is intact if each line holds the hash of the line before it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import DecodeError

from runner.records.ledger.lines import FIRST, Line, line_of
from runner.records.record import canonical_json


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The lines of a ledger. ``fragment`` is the beginning of a line that a crash cut off; empty where there is none."""

    lines: tuple[Line, ...]
    fragment: bytes = b""


def text_of(line: Line) -> bytes:
    """A line as it is written, without its end."""
    return canonical_json(line.plain())


def hash_of(text: bytes) -> str:
    """What the next line holds of a line with this text."""
    return hashlib.sha256(text).hexdigest()


def chain_of(content: bytes) -> Chain:
    """The lines of a ledger with this content.

    Raises:
        ValueError: a line was altered, left out, added or moved; the message has its number.
    """
    *texts, fragment = content.split(b"\n")
    return Chain(lines=tuple(_checked(texts)), fragment=fragment)


def _checked(texts: Sequence[bytes]) -> list[Line]:
    previous, found = FIRST, []
    for number, text in enumerate(texts, start=1):
        try:
            line = line_of(text)
        except (ValueError, DecodeError, RecursionError) as error:
            raise ValueError(f"line {number} is no line of a ledger: {error}") from error
        if text_of(line) != text:
            raise ValueError(f"line {number} is not written as a runner writes it")
        if line.previous != previous:
            raise ValueError(
                f"line {number} does not hold the hash of the line before it: a line was altered, left out or added"
            )
        previous = hash_of(text)
        found.append(line)
    return found
