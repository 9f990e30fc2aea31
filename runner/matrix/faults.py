"""What is wrong with a matrix, said in one line each."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class Fault:
    """One fault, with the line (from 1) and the dotted key where it stands."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}" + (f", {self.key}" if self.key else "")
        return f"{where}: {self.message}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` for the nearest known word, or the list of all of them."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f'; did you mean "{near[0]}"?'
    return f"; known: {', '.join(words)}" if words else ""
