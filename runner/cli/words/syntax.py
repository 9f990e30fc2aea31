"""What a command's words are, apart from what the command does."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def no_options(parser: argparse.ArgumentParser) -> None:
    """For a command that has none of its own."""
    del parser


def a_path(text: str) -> Path:
    """A path as a user gives it. An empty one, of an unset variable, would be the folder that he is in."""
    if not text:
        raise argparse.ArgumentTypeError("an empty text names no file and no folder")
    return Path(text)


@dataclass(frozen=True, kw_only=True)
class CommandSyntax:
    """One word of the command line.

    ``takes`` are the common options that it honours: any other is refused, and stays out of its help. ``notes`` are
    lines that close its help.
    """

    name: str
    summary: str
    takes: tuple[str, ...]
    add_options: Callable[[argparse.ArgumentParser], None] = no_options
    notes: tuple[str, ...] = ()
