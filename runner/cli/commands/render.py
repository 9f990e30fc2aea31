"""``forge-bench render``: the tables again, from the records.

All records count, because a folder may hold those of several machines, images and commits. So rendering asks no
daemon, and pages show all platforms on every machine.
"""

import argparse
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.commands.show import show
from runner.cli.words.syntax import a_path
from runner.records.source import store_at
from runner.records.store import Store
from runner.system.paths import resolved
from runner.system.scratch import scratch_directory


def _run(context: Context) -> int:
    source, say = context.source, context.progress.say
    records, output = context.records, _output(context)
    if output is not None:
        show(context, records, output)
        say(f"tables: {output / context.options.profile}")
        return 0
    with scratch_directory("render") as scratch:
        show(context, records, scratch)
    say(f"{source.root} is a publication, so no table was written; --output DIR writes them")
    return 0


def _output(context: Context) -> Path | None:
    """The folder for the tables: the call's, else the one beside the records. A publication gets no tables."""
    if context.own.output is not None:
        return store_at(resolved(context.own.output)).root
    return context.source.place("tables") if isinstance(context.source, Store) else None


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=a_path, metavar="DIR", help="write the tables there instead of beside the records"
    )


COMMAND = Command(
    name="render",
    summary="render the tables again from the records",
    takes=("--arch", "--only", "--profile", "--matrix", "--results"),
    add_options=_add_options,
    examples=("render", "render --only dqn --results 2026-11-22-dqn-full"),
    run=_run,
)
