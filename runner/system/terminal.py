"""How text is shown on a terminal: its width, line breaks and colour."""

import os
import re
import shutil
import sys
import textwrap
from typing import TextIO

_RED, _PLAIN = "\033[31m", "\033[0m"
_NARROWEST = 20
# A command in a message stays in one piece, from its first word to the end of the phrase, so that it can be copied.
_PROGRAMS = (
    "sudo|apt-get|docker|systemctl|journalctl|usermod|chown|chmod|mount|rm|git|pip|python3?|forge-bench"
)
_PIECE = re.compile(rf"(?<![\w/.\-])(?:make [a-z]+|(?:{_PROGRAMS}) (?:\$\([^)]*\)|[^;,()])*[^;,\s(])")
_LINE_OF_COMMAND = re.compile(rf" {{4,}}(?:{_PROGRAMS}|make|printf) \S")
# The stand-in for a blank inside such a piece while lines are broken. No message holds this character.
_GLUE = "\x00"


def width_of(stream: TextIO) -> int | None:
    """How many columns ``stream`` has. None where it is not a terminal, and no line is broken."""
    if not is_terminal(stream):
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    # A terminal that does not know its own size says 0.
    return max(_NARROWEST, columns or shutil.get_terminal_size().columns)


def is_terminal(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def moves(stream: TextIO) -> bool:
    """Whether a line may be written over on ``stream``."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def red(text: str, stream: TextIO) -> str:
    """``text`` in red, where ``stream`` is a terminal that may show colours (https://no-color.org)."""
    if not moves(stream) or os.environ.get("NO_COLOR"):
        return text
    return f"{_RED}{text}{_PLAIN}"


def wrap(text: str, width: int | None, *, hang: int = 2) -> str:
    """``text`` with its lines broken at blanks. Continuation lines are indented by ``hang`` more columns.

    Args:
        text: one or more lines; how far each is indented is kept.
        width: the number of columns; None changes nothing.
        hang: how many more columns a continuation line is indented.

    A path, a hash or a command is never broken. It gets its own line, which may be too long.
    """
    if width is None:
        return text
    return "\n".join(_wrap_line(line, width, hang) for line in text.split("\n"))


def complain(text: str) -> None:
    """Write ``text`` to stderr. Lines are broken at the width of a terminal, and stay as they are in a file."""
    print(wrap(text, width_of(sys.stderr)), file=sys.stderr)  # noqa: T201 (the one place that prints)


def shorten(text: str, width: int) -> str:
    """``text`` cut to ``width`` columns. Two dots stand for the part that is left out."""
    if len(text) <= width:
        return text
    return text[: max(0, width - 2)] + ".."[: max(0, width)]


def _wrap_line(line: str, width: int, hang: int) -> str:
    if len(line) <= width or _LINE_OF_COMMAND.match(line):
        return line
    body = line.lstrip(" ")
    indent = line[: len(line) - len(body)]
    pieces = _PIECE.sub(lambda found: found.group().replace(" ", _GLUE), body)
    return "\n".join(
        textwrap.wrap(
            pieces,
            width,
            initial_indent=indent,
            subsequent_indent=indent + " " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ).replace(_GLUE, " ")
