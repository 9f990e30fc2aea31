"""The command line: common options in any place, and each command's own options."""

import argparse
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

from runner.cli.words.syntax import CommandSyntax, a_path
from runner.matrix.faults import did_you_mean
from runner.matrix.toolchain import ARCHITECTURES
from runner.system import terminal
from runner.system.errors import UsageError

PROGRAM = "forge-bench"
SELECTION = ("--arch", "--platform", "--only", "--profile", "--seeds", "--limits", "--toolchain")
EVERY_COMMON = (*SELECTION, "--matrix", "--executor", "--results", "--fresh", "--set-up")
_SEEDS = 2**32
_CLOSING = (
    "A BENCHMARK (see list) runs only this benchmark and prints its table on stdout.",
    f"{PROGRAM} COMMAND --help shows the options of a command.",
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The user's options, before any name is looked up in the matrix.

    ``own`` holds the options that only this command has. ``commands`` names every command, and ``takes`` the common
    options of this command.
    """

    command: str
    commands: tuple[str, ...]
    takes: tuple[str, ...]
    benchmark: str | None
    architectures: tuple[str, ...]
    platforms: tuple[str, ...]
    only: tuple[str, ...]
    profile: str
    seeds: tuple[int, ...]
    limits: tuple[str, ...]
    toolchains: tuple[str, ...]
    matrix: Path | None
    executor: str | None
    results: Path | None
    fresh: bool
    set_up: bool
    own: argparse.Namespace


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        known = [*self._option_string_actions, *common_parser()._option_string_actions]
        # An empty word counts as a word.
        unknown = message.removeprefix("unrecognized arguments: ").partition(" ")[0]
        meant = did_you_mean(unknown, known) if unknown.startswith("-") else ""
        raise UsageError(
            what=f"{message}{meant}",
            why=f"{self.prog} does not understand this command line",
            fix=f"see {self.prog} --help",
        )


def parse(arguments: Sequence[str], commands: Mapping[str, CommandSyntax]) -> Options | str:
    """Read the command line; return a text where the user asked for help.

    Raises:
        UsageError: an unknown option, or a value of the wrong form.
    """
    common, rest = common_parser().parse_known_args(list(arguments))
    word, rest = (rest[0], rest[1:]) if rest and not rest[0].startswith("-") else ("run", rest)
    # A word that is not a command names a benchmark. The matrix decides later whether it exists.
    command, benchmark = (word, None) if word in commands else ("run", word)
    if common.help:
        return _help(commands, command)
    _require_taken(common, commands[command])
    only = tuple(common.only or ())
    return Options(
        command=command,
        commands=tuple(commands),
        takes=commands[command].takes,
        benchmark=benchmark,
        architectures=tuple(dict.fromkeys(common.arch or ())),
        platforms=tuple(dict.fromkeys(common.platform or ())),
        only=only if benchmark is None else _of_benchmark(benchmark, only, tuple(commands)),
        profile="quick" if common.profile is None else common.profile,
        seeds=common.seeds or (),
        limits=tuple(dict.fromkeys(common.limits or ())),
        toolchains=tuple(dict.fromkeys(common.toolchain or ())),
        matrix=common.matrix,
        executor=common.executor,
        results=common.results,
        fresh=bool(common.fresh),
        set_up=bool(common.set_up),
        own=own_parser(commands[command]).parse_args(rest),
    )


def _require_taken(common: argparse.Namespace, command: CommandSyntax) -> None:
    """Refuse options that the command would ignore.

    Raises:
        UsageError: the command does not take one of the options that were given.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in vars(common).items() if value is not None]
    ignored = [name for name in given if name not in command.takes]
    if ignored:
        raise UsageError(
            what=f"{command.name} takes no {', '.join(ignored)}",
            why="the command does the same with and without this option",
            fix=f"leave the option out; see {PROGRAM} {command.name} --help",
        )


def _of_benchmark(benchmark: str, only: Sequence[str], commands: Sequence[str]) -> tuple[str, ...]:
    """The patterns for the one benchmark: all of it, or the parts that ``--only`` selects.

    Raises:
        UsageError: a pattern names no part of that benchmark.
    """
    found = []
    for pattern in only or (benchmark,):
        head, separator, rest = pattern.partition("/")
        if not fnmatchcase(benchmark, head):
            raise UsageError(
                what=f"{benchmark} --only {pattern} selects nothing{did_you_mean(benchmark, [*commands, head])}",
                why=f"a benchmark's name runs that one alone, and {pattern} is no part of {benchmark}",
                fix=f"leave one of the two out, or name a part of it: --only {benchmark}/IMPLEMENTATION",
            )
        found.append(f"{benchmark}{separator}{rest}")
    return tuple(found)


def common_parser(takes: Container[str] = EVERY_COMMON) -> argparse.ArgumentParser:
    """The common options among ``takes``. An option that was not given is None, so given options are known."""
    parser = _Parser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true", default=None, help="show this and end")

    def add(name: str, **properties: Any) -> None:
        if name in takes:
            parser.add_argument(name, **properties)

    add(
        "--arch",
        action="append",
        choices=ARCHITECTURES,
        help="only this architecture; repeat for several",
    )
    add(
        "--platform",
        action="append",
        metavar="NAME",
        help="only this platform of the matrix; repeat for several",
    )
    add(
        "--only",
        action="append",
        metavar="BENCHMARK[/IMPLEMENTATION[/CASE]]",
        help="only these (globs); repeat for several",
    )
    add("--profile", metavar="NAME", help="how much is run: smoke, quick (default), libraries or full")
    add("--seeds", type=_seeds, metavar="1,2,3", help="these seeds instead of the profile's")
    add(
        "--limits",
        action="append",
        metavar="NAME",
        help="these limits instead of each benchmark's first; repeat for several",
    )
    add(
        "--toolchain",
        action="append",
        metavar="NAME",
        help="this toolchain of the matrix instead of the profile's; repeat for several",
    )
    add("--matrix", type=a_path, metavar="FILE", help="another matrix file")
    add("--executor", choices=["docker", "local"], help="docker, or local (the default inside an image)")
    add("--results", type=a_path, metavar="DIR", help="where records and tables lie")
    add("--fresh", action="store_true", default=None, help="run again what could be reused")
    add("--set-up", action="store_true", default=None, help="install first what the host lacks (as root)")
    return parser


def own_parser(command: CommandSyntax) -> argparse.ArgumentParser:
    """The options and arguments that only this command has."""
    parser = _Parser(prog=f"{PROGRAM} {command.name}", add_help=False, allow_abbrev=False)
    command.add_options(parser)
    return parser


def _seeds(text: str) -> tuple[int, ...]:
    words = text.split(",")
    # Python's int() would also accept a sign, a blank, an underscore or a digit of another script.
    if not all(word.isascii() and word.isdigit() and int(word) < _SEEDS for word in words):
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 to {_SEEDS - 1}, not {text!r}")
    return tuple(dict.fromkeys(map(int, words)))


def _help(commands: Mapping[str, CommandSyntax], name: str) -> str:
    command = commands[name]
    parents = [common_parser(command.takes), own_parser(command)]
    columns = terminal.width_of(sys.stdout) or 80
    if name != "run":
        return _Parser(
            prog=f"{PROGRAM} {name}",
            description=terminal.wrap(command.summary, columns, hang=0),
            parents=parents,
            add_help=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="\n".join(
                [*_examples(command), "", *(terminal.wrap(line, columns) for line in command.notes)]
            ),
        ).format_help()
    margin = max(map(len, commands)) + 4
    return _Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [COMMAND | BENCHMARK] [options]",
        description=terminal.wrap(
            "Does reinforcement learning in Rust beat its Python references, on this hardware?",
            columns,
            hang=0,
        ),
        parents=parents,
        add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "\n".join(
            terminal.wrap(f"  {each.name:<{margin - 2}}{each.summary}", columns, hang=margin - 2)
            for each in commands.values()
        )
        + "\n\n"
        + "\n".join(_examples(command))
        + "\n\n"
        + "\n".join(terminal.wrap(line, columns, hang=0) for line in _CLOSING),
    ).format_help()


def _examples(command: CommandSyntax) -> list[str]:
    """Lines that are not wrapped, so that they can be copied."""
    return ["examples:", *(f"  {PROGRAM} {each}" for each in command.examples)]
