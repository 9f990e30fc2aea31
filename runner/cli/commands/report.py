"""``forge-bench report``: all pages and plots in one HTML file, from the records."""

import argparse
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.records.store import Store, newest_by_key
from runner.report.html import REPORT
from runner.system.errors import UsageError
from runner.system.files import write_atomically
from runner.system.output_file import write_output

_STDOUT = Path("-")


def _run(context: Context) -> int:
    # The tables' libraries are slow to import, and `--help` needs none of them.
    from runner.report.html.report import pages_with_report  # noqa: PLC0415 (as the comment says)

    profile, source, output = context.options.profile, context.source, context.own.output
    if output is None and not isinstance(source, Store):
        raise UsageError(
            what="a publication gets no report of its own",
            why=f"{source.root} is frozen",
            fix="name a file with --output, or - for stdout",
        )
    newest = list(newest_by_key(context.records).values())
    place = context.store.place("tables") / profile / REPORT if output is None else output
    published = None if output == _STDOUT else context.published_from(place.parent)
    text = pages_with_report(context.matrix, newest, profile=profile, published=published)[REPORT]
    if output == _STDOUT:
        print(text, end="")
        return 0
    if output is None:
        write_atomically(place, text)
    else:
        write_output(place, text.encode())
    context.progress.say(f"report: {place}")
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=a_path,
        metavar="FILE",
        help="write it there; - is stdout (default: beside the tables)",
    )


COMMAND = Command(
    name="report",
    summary="write all pages and plots as one HTML file",
    takes=("--arch", "--profile", "--matrix", "--results"),
    add_options=_add_options,
    examples=("report", "report --profile full --results 2026-11-22-dqn-full"),
    run=_run,
)
