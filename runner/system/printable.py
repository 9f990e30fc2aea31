"""Text of unknown origin, made safe to show. Nothing in it controls a terminal, reorders text or stacks accents."""

import unicodedata
from collections.abc import Sequence

# No script of the world needs more combining characters; more of them cover the lines above and below.
_MOST_COMBINING = 4
_LONGEST_LOGGED = 10_000


def one_line(text: str, longest: int) -> str:
    """``text`` on one line of at most ``longest`` characters. A cut line ends in an ellipsis.

    Control and format characters (escape sequences, bidirectional overrides, zero-width joints), lone
    surrogates and unassigned code points become spaces, and runs of spaces become one.
    """
    # A generous first cut keeps a gigabyte cheap. Joining white space may still shorten the text.
    line = " ".join(_printable(text[: 4 * longest]).split())
    cut = len(text) > 4 * longest or len(line) > longest
    return f"{line[:longest].rstrip()}…" if cut else line


def first_of(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def last_line(text: str) -> str:
    """The last line that holds anything; empty where there is none."""
    return (text.rstrip().splitlines() or [""])[-1].strip()


def lines(text: str, longest: int) -> str:
    """The same for each line of ``text`` by itself; runs of spaces stay."""
    return "\n".join(
        _printable(line[:longest]).rstrip() + ("…" if len(line) > longest else "")
        for line in text.replace("\t", "    ").split("\n")
    )


def log_text(text: str) -> str:
    """A program's log, safe for ``cat``. Each state of a progress bar has its own line, and long lines are cut."""
    return lines(text.replace("\r\n", "\n").replace("\r", "\n"), _LONGEST_LOGGED)


def _printable(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text)
    if shown.isascii():
        return shown
    kept: list[str] = []
    pile = 0
    for each in shown:
        pile = pile + 1 if unicodedata.category(each) in ("Mn", "Me") else 0
        if pile <= _MOST_COMBINING:
            kept.append(each)
    return "".join(kept)
