"""What is wrong with a matrix, said in one line each."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from runner.system.printable import one_line

_LONGEST_KEY = 200
_LONGEST_MESSAGE = 400
# Nobody misspells more than this, and comparing long texts takes long.
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
        # A matrix may come from anywhere, and this goes to a terminal.
        where = f"line {self.line}" + (f", {one_line(self.key, _LONGEST_KEY)}" if self.key else "")
        return f"{where}: {one_line(self.message, _LONGEST_MESSAGE)}"


def did_you_mean(word: str, known: Iterable[str], *, listed: Iterable[str] | None = None) -> str:
    """``; did you mean "x"?`` for the nearest known word, or a list that a reader gets to the end of.

    ``listed`` stands for the known words in that list, where it says the same in fewer.
    """
    words = sorted(each for each in known if len(each) <= _LONGEST_WORD)[:_MOST_WORDS]
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6) if len(word) <= _LONGEST_WORD else []
    if near:
        return f'; did you mean "{near[0]}"?'
    shown = words if listed is None else sorted(listed)
    if not shown:
        return ""
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return f"; known: {', '.join(shown[:_MOST_LISTED])}{more}"
