"""The script with which a shell completes a command line of forge-bench, generated from the options."""

import argparse
from collections.abc import Mapping, Sequence

from runner.cli.words.options import PROGRAM, common_parser, own_parser
from runner.cli.words.syntax import CommandSyntax, a_path
from runner.system.errors import PythonNotReady

SHELLS = ("bash", "zsh", "fish")


def script(
    shell: str,
    commands: Mapping[str, CommandSyntax],
    *,
    benchmarks: Mapping[str, Sequence[str]],
    profiles: Sequence[str],
    limits: Sequence[str],
    toolchains: Sequence[str],
) -> str:
    """The completion script for ``shell``.

    Args:
        shell: one of `SHELLS`.
        commands: all of them.
        benchmarks: the names that the matrix has, each with its implementations'.
        profiles: the names of the matrix's profiles.
        limits: the names of the matrix's limits.
        toolchains: the names of the matrix's toolchains.

    Raises:
        PythonNotReady: there is no shtab here.
    """
    try:
        # Imported here: an image has no shtab, and nothing else needs it.
        import shtab  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise PythonNotReady(
            what="completion scripts cannot be generated here",
            why=f"{error}: it is one of the extra packages that a host needs and an image does not",
            fix="on a host: make setup (or in the checkout: pip install -e '.[host]')",
        ) from error
    names = [
        *benchmarks,
        *(f"{benchmark}/{each}" for benchmark, found in benchmarks.items() for each in found),
    ]
    everything = argparse.ArgumentParser(prog=PROGRAM, parents=_options(commands["run"]), add_help=False)
    words = everything.add_subparsers(metavar="COMMAND")
    parsers = [everything]
    for name, command in commands.items():
        parsers.append(
            words.add_parser(name, parents=_options(command), add_help=False, help=command.summary)
        )
    for name in benchmarks:
        options = _options(commands["run"])
        parsers.append(words.add_parser(name, parents=options, add_help=False, help="this benchmark alone"))
    for action in (action for parser in parsers for action in parser._actions):
        if action.dest == "profile":
            action.choices = list(profiles)
        elif action.dest == "limits":
            action.choices = list(limits)
        elif action.dest == "toolchain":
            action.choices = list(toolchains)
        elif action.dest == "only":
            action.choices = names
        elif action.type is a_path:
            # shtab reads what completes an argument from this attribute.
            kind = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            action.complete = kind  # type: ignore[attr-defined]  # argparse knows nothing of it
        elif isinstance(action.choices, (list, tuple)):
            # Where no value is allowed, argparse needs the empty list among the choices.
            action.choices = [each for each in action.choices if isinstance(each, str)]
    return shtab.complete(everything, shell=shell)


def _options(command: CommandSyntax) -> list[argparse.ArgumentParser]:
    """The parser is made again each time, because a note on one command's option must not show at another command."""
    return [common_parser(command.takes), own_parser(command)]
