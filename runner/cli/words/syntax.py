"""The words of a command, without its action."""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def no_options(parser: argparse.ArgumentParser) -> None:
    """Add no option, for a command without options of its own."""
    del parser


def a_path(text: str) -> Path:
    """A path that a user gives.

    An empty path, from an unset variable, would be the current folder, so it is refused.
    """
    if not text:
        raise argparse.ArgumentTypeError("an empty text names no file and no folder")
    return Path(text)


def minutes(text: str) -> float:
    """A budget of time that a user gives, in minutes; 0 is none."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"minutes are a number from 0, such as 2.5, not {text!r}")
    return number


def percent(text: str) -> float:
    """A share that a user gives in per cent, such as ``2%`` or ``2``; at least 0.1 and below 100."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0.1 <= number < 100:  # noqa: PLR2004 (per cent)
        raise argparse.ArgumentTypeError(
            f"a share is a number of per cent from 0.1, such as 2%, not {text!r}"
        )
    return number / 100


@dataclass(frozen=True, kw_only=True)
class CommandSyntax:
    """One word of the command line.

    ``takes`` are its common options; any other is refused, and is not in its help. ``examples`` are command lines
    without the program's name. They and ``notes`` are the last lines of its help.
    """

    name: str
    summary: str
    takes: tuple[str, ...]
    add_options: Callable[[argparse.ArgumentParser], None] = no_options
    notes: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
