"""``forge-bench report``: all pages and plots in one HTML file, or the profiling report, from the records."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.commands.notes import notes_on
from runner.cli.words.syntax import a_path
from runner.records.record import Record
from runner.records.store import Store, newest_by_key
from runner.report.html import REPORT
from runner.system.errors import NothingToCompare, UsageError
from runner.system.files import write_atomically
from runner.system.output_file import write_output

_STDOUT = Path("-")
_PHASES = "phases"


def _run(context: Context) -> int:
    output = context.own.output
    if output is None and not isinstance(context.source, Store):
        raise UsageError(
            what="a publication gets no report of its own",
            why=f"{context.source.root} is frozen",
            fix="name a file with --output, or - for stdout",
        )
    newest = list(newest_by_key(context.records).values())
    return _phases(context, newest) if context.own.kind == _PHASES else _all_pages(context, newest)


def _all_pages(context: Context, newest: Sequence[Record]) -> int:
    # The tables' libraries are slow to import, and `--help` needs none of them.
    from runner.report.html.report import pages_with_report  # noqa: PLC0415 (as the comment says)

    profile, output = context.options.profile, context.own.output
    place = context.store.place("tables") / profile / REPORT if output is None else output
    published = None if output == _STDOUT else context.published_from(place.parent)
    text = pages_with_report(
        context.matrix, newest, profile=profile, published=published, notes=notes_on(context, newest)
    )[REPORT]
    if output == _STDOUT:
        print(text, end="")
        return 0
    _write(place, text, named=output is not None)
    context.progress.say(f"report: {place}")
    return 0


def _phases(context: Context, newest: Sequence[Record]) -> int:
    """The profiling report, and its plots beside it."""
    from runner.report.tables.pages import pages_of_profiling  # noqa: PLC0415 (as above)

    profile, output = context.options.profile, context.own.output
    page, *plots = pages_of_profiling(context.matrix, newest, profile=profile) or (None,)
    if page is None:
        raise NothingToCompare(
            what=f"no run of profile {profile} was instrumented",
            why=f"no record of {context.source.root} says what the phases of a training took",
            fix=f"run it first: python -m runner --only 'phases-*' --profile {profile}",
        )
    if output == _STDOUT:
        print(page.text, end="")
        return 0
    place = context.store.place("tables") / profile / page.file if output is None else output
    _write(place, page.text, named=output is not None)
    for plot in plots:
        _write(place.parent / plot.file, plot.text, named=output is not None)
    context.progress.say(f"profiling report: {place}")
    return 0


def _write(place: Path, text: str, *, named: bool) -> None:
    """Write a file that the user named, or one beside the tables."""
    if named:
        write_output(place, text.encode())
    else:
        write_atomically(place, text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        nargs="?",
        choices=[_PHASES],
        help="only the profiling report, as Markdown with its plots: where the time of instrumented trainings goes",
    )
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
    examples=(
        "report",
        "report --profile full --results 2026-11-22-dqn-full",
        "report phases --output -",
    ),
    run=_run,
)
