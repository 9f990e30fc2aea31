"""docs/commands.md, generated from the command line itself.

python -m tools.command_page            # the exit code is 1 where the page is not what the commands take
python -m tools.command_page --write    # write it anew
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner.cli.command_table import COMMANDS
from runner.cli.words.options import EVERY_COMMON, common_parser, own_parser
from runner.cli.words.syntax import CommandSyntax

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
_BEGINNING = """# Commands

`python -m tools.command_page --write` wrote this page from the command line itself.

`make help` lists the targets of make. The runner is `.venv/bin/python -m runner`, or `.venv/bin/forge-bench`. Without a
command it runs the selected part of the matrix and renders its tables. A benchmark's name in the place of a command runs
only this benchmark and prints its table. Each command has `--help`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join((_BEGINNING, *_overview(), *_common(), *_commands())).rstrip() + "\n"


def _overview() -> Iterator[str]:
    yield from ("| command | what it does |", "|---|---|")
    for command in COMMANDS.values():
        yield f"| [`{command.name}`](#{command.name}) | {_cell(command.summary)} |"
    yield ""


def _common() -> Iterator[str]:
    yield from ("## Options that several commands take", "")
    yield from _options(common_parser(EVERY_COMMON))


def _commands() -> Iterator[str]:
    for command in COMMANDS.values():
        yield from (f"## {command.name}", "", f"{_sentence(command.summary)}", "")
        taken = [name for name in EVERY_COMMON if name in command.takes]
        if taken:
            yield from ("Takes " + ", ".join(f"`{name}`" for name in taken) + ".", "")
        yield from _options(own_parser(command))
        yield from (*(f"    .venv/bin/python -m runner {example}" for example in command.examples), "")
        yield from _notes(command)


def _notes(command: CommandSyntax) -> Iterator[str]:
    for note in command.notes:
        yield from (_sentence(note), "")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = [
        action for action in parser._actions if action.help != argparse.SUPPRESS and action.dest != "help"
    ]
    if not actions:
        return
    yield from ("| option | what it does |", "|---|---|")
    for action in actions:
        yield f"| {_cell(_words(action))} | {_cell(str(action.help))} |"
    yield ""


def _words(action: argparse.Action) -> str:
    metavar = "" if action.nargs == 0 else _metavar(action)
    if not action.option_strings:
        return f"`{metavar}`"
    return ", ".join(f"`{f'{name} {metavar}'.strip()}`" for name in action.option_strings)


def _metavar(action: argparse.Action) -> str:
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", ":", "`")) else f"{text}."


def main(arguments: Iterable[str] | None = None) -> int:
    """Compare or write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.command_page", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page anew")
    given: Sequence[str] | None = None if arguments is None else list(arguments)
    if parser.parse_args(given).write:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    return int(page() != PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
