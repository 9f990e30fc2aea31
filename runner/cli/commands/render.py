"""``forge-bench render``: the tables again, from the records.

From all of them: a folder may hold those of several machines, images and commits, and today's own are not asked for.
So nothing is asked of a daemon, and pages are of all platforms, wherever they are rendered.
"""

import argparse
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.commands.show import show
from runner.records.source import store_at
from runner.records.store import Store
from runner.system.scratch import scratch_directory


def _run(context: Context) -> int:
    source, say = context.source, context.progress.say
    records, output = source.records(), _output(context)
    if output is not None:
        show(context, records, output)
        say(f"tables: {output / context.options.profile}")
        return 0
    with scratch_directory("render") as scratch:
        show(context, records, scratch)
    say(f"{source.root} is a publication, so no table was written; --output DIR writes them")
    return 0


def _output(context: Context) -> Path | None:
    """Where the tables go: where the call says, else beside the records; nowhere beside those of a publication."""
    if context.own.output is not None:
        return store_at(context.own.output.resolve()).root
    return context.source.place("tables") if isinstance(context.source, Store) else None


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write the tables there instead of beside the records"
    )


COMMAND = Command(
    name="render",
    summary="render the tables again from the records",
    takes=("--arch", "--only", "--profile", "--matrix", "--results"),
    add_options=_add_options,
    run=_run,
)
