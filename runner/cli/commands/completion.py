"""``forge-bench completion``: prints the script with which a shell completes commands, options and names."""

import argparse
from collections.abc import Sequence

from runner.cli.commands.base import Command, Context
from runner.cli.words.completion import SHELLS, script
from runner.cli.words.options import PROGRAM
from runner.system.errors import MatrixError


def _run(context: Context) -> int:
    benchmarks: dict[str, Sequence[str]] = {}
    profiles: Sequence[str] = ()
    limits: Sequence[str] = ()
    toolchains: Sequence[str] = ()
    try:
        benchmarks = {each.name: tuple(each.implementations) for each in context.matrix.benchmarks.values()}
        profiles, limits = tuple(context.matrix.profiles), tuple(context.matrix.limits)
        toolchains = tuple(context.matrix.toolchains)
    except MatrixError as error:
        # A shell must start even without a valid matrix.
        context.progress.say(
            f"names of benchmarks, profiles, limits and toolchains are left out: {error.what}"
        )
    names = script(
        context.own.shell,
        context.commands,
        benchmarks=benchmarks,
        profiles=profiles,
        limits=limits,
        toolchains=toolchains,
    )
    print(names)
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="whose script is printed")


COMMAND = Command(
    name="completion",
    summary="print the script that makes a shell complete forge-bench",
    takes=("--matrix",),
    notes=(
        f"bash, in ~/.bashrc: source <({PROGRAM} completion bash)",
        f'zsh, once: {PROGRAM} completion zsh > "${{fpath[1]}}/_{PROGRAM}"',
        f"fish, once: {PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish",
        "Names of benchmarks, profiles, limits and toolchains are those that the matrix has at that time. A shell "
        f"completes the program {PROGRAM}, which the virtual environment has in bin/; python -m runner cannot be "
        "completed.",
    ),
    add_options=_add_options,
    examples=("completion bash",),
    run=_run,
)
