"""How text meets a terminal: its width, where lines are broken, and whether there is colour."""

import os
import re
import shutil
import sys
import textwrap
from typing import TextIO

_RED, _PLAIN = "\033[31m", "\033[0m"
_NARROWEST = 20
# A command that a message names is one piece, to be copied whole: from its first word to the end of the phrase.
_PROGRAMS = (
    "sudo|apt-get|docker|systemctl|journalctl|usermod|chown|chmod|mount|rm|git|pip|python3?|forge-bench"
)
_PIECE = re.compile(rf"(?<![\w/.\-])(?:make [a-z]+|(?:{_PROGRAMS}) (?:\$\([^)]*\)|[^;,()])*[^;,\s(])")
_LINE_OF_COMMAND = re.compile(rf" {{4,}}(?:{_PROGRAMS}|make|printf) \S")
# What stands for a blank inside such a piece while its line is broken; no message holds it.
_GLUE = "\x00"


def width_of(stream: TextIO) -> int | None:
    """How many columns ``stream`` has; None where it is no terminal, and nothing is to be broken."""
    if not is_terminal(stream):
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    # A terminal that does not know its own size says 0.
    return max(_NARROWEST, columns or shutil.get_terminal_size().columns)


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody looks at ``stream``."""
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
    """``text`` with its lines broken at blanks, each going on ``hang`` columns further in than it began.

    Args:
        text: one or more lines; how far each is indented is kept.
        width: columns there are; None leaves everything as it is.
        hang: how much further in a broken line goes on.

    A path, a hash, or a command that is to be copied is never broken: it gets a line of its own, and may run over.
    """
    if width is None:
        return text
    return "\n".join(_wrap_line(line, width, hang) for line in text.split("\n"))


def complain(text: str) -> None:
    """``text`` on stderr: its lines as they are in a file, broken where the terminal ends on a terminal."""
    print(wrap(text, width_of(sys.stderr)), file=sys.stderr)  # noqa: T201 (the one place that prints)


def shorten(text: str, width: int) -> str:
    """``text`` cut to ``width`` columns, with two dots where something is left out."""
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
