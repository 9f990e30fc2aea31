"""The faults of a matrix, one line each."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from runner.system.printable import first_of, one_line

_LONGEST_KEY = 200
_LONGEST_MESSAGE = 400
# Longer words are not compared: a misspelt word is shorter, and comparing long texts is slow.
_LONGEST_WORD = 100
_MOST_WORDS = 1000
_MOST_LISTED = 20


@dataclass(frozen=True, kw_only=True, order=True)
class Fault:
    """One fault, with the line (from 1) and the dotted key where it stands."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        # A matrix may come from an unknown author, and this text goes to a terminal.
        where = f"line {self.line}" + (f", {one_line(self.key, _LONGEST_KEY)}" if self.key else "")
        return f"{where}: {one_line(self.message, _LONGEST_MESSAGE)}"


def did_you_mean(word: str, known: Iterable[str], *, listed: Iterable[str] | None = None) -> str:
    """``; did you mean "x"?`` for the nearest known word, or a short list of known words.

    ``listed`` is a shorter way to write the known words in that list.
    """
    words = sorted(each for each in known if len(each) <= _LONGEST_WORD)[:_MOST_WORDS]
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6) if len(word) <= _LONGEST_WORD else []
    if near:
        return f'; did you mean "{near[0]}"?'
    shown = words if listed is None else sorted(listed)
    if not shown:
        return ""
    return f"; known: {first_of(shown, _MOST_LISTED)}"
