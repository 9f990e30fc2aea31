"""Text of unknown origin, made fit to be shown: on one line, without anything that steers a terminal or reorders text."""

import unicodedata

# The scripts of the world need fewer; more of them pile up over the lines above and below.
_MOST_COMBINING = 4


def one_line(text: str, longest: int) -> str:
    """``text`` on one line of at most ``longest`` characters, an ellipsis behind it where it was cut.

    Control and format characters (escape sequences, bidirectional overrides, zero-width joints), lone
    surrogates and unassigned code points become spaces, and runs of spaces become one.
    """
    # Cut first, generously, so that a gigabyte costs nothing; white space may still melt away.
    shown = "".join(each if each.isprintable() else " " for each in text[: 4 * longest])
    line = " ".join((shown if shown.isascii() else _unpiled(shown)).split())
    cut = len(text) > 4 * longest or len(line) > longest
    return f"{line[:longest].rstrip()}…" if cut else line


def lines(text: str, longest: int) -> str:
    """``text`` with each of its lines made fit by `one_line`; indentation stays."""
    return "\n".join(
        " " * (len(line) - len(line.lstrip(" "))) + one_line(line, longest) for line in text.split("\n")
    )


def _unpiled(text: str) -> str:
    kept: list[str] = []
    pile = 0
    for each in text:
        pile = pile + 1 if unicodedata.category(each) in ("Mn", "Me") else 0
        if pile <= _MOST_COMBINING:
            kept.append(each)
    return "".join(kept)
