"""The command line: options that every command takes, in any place, and what each command adds."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from runner.errors import UsageError
from runner.matrix.faults import did_you_mean

PROGRAM = "forge-bench"
COMMANDS = {
    "run": "run the selected part of the matrix and render its tables (the default)",
    "plan": "say for every cell whether it runs, is reused or is left out, and why; start nothing",
    "build": "build the images of the selected cells",
    "render": "render the tables again from the records",
    "compare": "how many times faster one implementation is than another, with its interval",
    "list": "list benchmarks, cases and implementations",
    "setup": "find what the host lacks and install it, or print the commands",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for, before anything is looked up in the matrix."""

    command: str
    benchmark: str | None
    architectures: tuple[str, ...]
    only: tuple[str, ...]
    profile: str
    seeds: tuple[int, ...]
    matrix: Path | None
    executor: str | None
    results: Path | None
    fresh: bool
    set_up: bool
    json: bool
    comparison: "ComparisonOptions | None"


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """What ``compare`` adds."""

    benchmark: str
    base: str
    against: str
    case: str | None
    metric: str | None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(
            what=f"{PROGRAM}: {message}",
            why="the command line does not say what to do",
            fix=f"see {PROGRAM} --help",
        )


def parse(arguments: Sequence[str]) -> Options | str:
    """Read the command line; a text comes back where help was asked for.

    Raises:
        UsageError: an unknown option, or a value of the wrong form.
    """
    common, rest = _common().parse_known_args(list(arguments))
    command, rest = (rest[0], rest[1:]) if rest and not rest[0].startswith("-") else ("run", rest)
    if common.help:
        return _help(command)
    benchmark = None
    if command not in COMMANDS:
        # Any other word names a benchmark; whether there is one of that name, the matrix knows.
        command, benchmark = "run", command
    own = _own(command).parse_args(rest)
    return Options(
        command=command,
        benchmark=benchmark,
        architectures=tuple(dict.fromkeys(common.arch)),
        only=tuple(common.only) if benchmark is None else (benchmark, *common.only),
        profile=common.profile,
        seeds=common.seeds,
        matrix=common.matrix,
        executor=common.executor,
        results=common.results,
        fresh=common.fresh,
        set_up=common.set_up,
        json=getattr(own, "json", False) or getattr(own, "format", "text") == "json",
        comparison=ComparisonOptions(
            benchmark=own.benchmark, base=own.base, against=own.against, case=own.case, metric=own.metric
        )
        if command == "compare"
        else None,
    )


def no_such_benchmark(word: str, known: Sequence[str]) -> UsageError:
    """The first word is neither a command nor a benchmark."""
    return UsageError(
        what=f'no command or benchmark "{word}"{did_you_mean(word, [*COMMANDS, *known])}',
        why=f"commands are {', '.join(COMMANDS)}; benchmarks are {', '.join(known)}",
        fix=f"see {PROGRAM} --help and {PROGRAM} list",
    )


def _common() -> _Parser:
    parser = _Parser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true", help="show this and end")
    parser.add_argument(
        "--arch",
        action="append",
        default=[],
        choices=["amd64", "arm64"],
        help="only this architecture; repeat for several",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="BENCHMARK[/IMPLEMENTATION]",
        help="only these (globs); repeat for several",
    )
    parser.add_argument(
        "--profile", default="quick", metavar="NAME", help="how much is run: smoke, quick (default) or full"
    )
    parser.add_argument(
        "--seeds", type=_seeds, default=(), metavar="1,2,3", help="these seeds instead of the profile's"
    )
    parser.add_argument("--matrix", type=Path, metavar="FILE", help="another matrix file")
    parser.add_argument(
        "--executor", choices=["docker", "local"], help="docker, or local (the default inside an image)"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="where records and tables lie")
    parser.add_argument("--fresh", action="store_true", help="run again what could be reused")
    parser.add_argument("--set-up", action="store_true", help="install first what the host lacks (as root)")
    return parser


def _own(command: str) -> _Parser:
    parser = _Parser(prog=f"{PROGRAM} {command}", add_help=False, allow_abbrev=False)
    if command == "plan":
        parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    if command == "compare":
        parser.add_argument("--benchmark", required=True)
        parser.add_argument("--base", required=True, help="the implementation that counts as 1")
        parser.add_argument("--against", required=True, help="the implementation whose speed is stated")
        parser.add_argument("--case", help="one case instead of all")
        parser.add_argument("--metric", help="another metric than the benchmark's headline")
        parser.add_argument("--format", choices=["text", "json"], default="text")
    return parser


def _seeds(text: str) -> tuple[int, ...]:
    seeds = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    if any(seed < 0 or seed >= 2**32 for seed in seeds):
        raise argparse.ArgumentTypeError("a seed is a whole number from 0 to 4294967295")
    return seeds


def _help(command: str) -> str:
    if command in COMMANDS and command != "run":
        own = _own(command)
        parser = _Parser(
            prog=f"{PROGRAM} {command}",
            description=COMMANDS[command],
            parents=[_common(), own],
            add_help=False,
        )
        return parser.format_help()
    parser = _Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [COMMAND | BENCHMARK] [options]",
        description="Does reinforcement learning in Rust beat its Python references, on this hardware?",
        parents=[_common()],
        add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
        + "\n\nA BENCHMARK (see list) runs that one alone and prints its table on stdout.",
    )
    return parser.format_help()
