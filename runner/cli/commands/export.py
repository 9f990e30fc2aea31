"""``forge-bench export``: all records of the store as one table."""

import argparse
import sys
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.report.export.table import table_of_records, table_of_repetitions
from runner.report.export.write import as_csv, as_parquet
from runner.system.errors import UsageError
from runner.system.output_file import write_output
from runner.system.terminal import is_terminal

_STDOUT = Path("-")
_SUFFIXES = {".csv": "csv", ".parquet": "parquet"}


def _run(context: Context) -> int:
    own = context.own
    output = None if own.output == _STDOUT else own.output
    form = _format(own.format, output)
    if form == "parquet" and output is None and is_terminal(sys.stdout):
        raise UsageError(
            what="a Parquet file is not written to a terminal",
            why="it is no text",
            fix="name a file with --output, or send stdout into one",
        )
    records = context.chosen(context.records)
    table = table_of_repetitions(records) if own.repetitions else table_of_records(records)
    content = as_parquet(table) if form == "parquet" else as_csv(table)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_output(output, content)
    rows, to = len(table[0].values), "" if output is None else f" in {output}"
    context.progress.say(
        f"{rows} rows and {len(table)} columns of {len(records)} records{to}"
        if records
        else f"no such records in {context.source.root}: the table{to} has a header and no rows"
    )
    return 0


def _format(asked: str | None, output: Path | None) -> str:
    """The format of the table: the requested one, or that of the file's name.

    The two must not contradict each other.
    """
    named = None if output is None else _SUFFIXES.get(output.suffix.lower())
    if None not in (asked, named) and asked != named:
        raise UsageError(
            what=f"--format {asked} contradicts --output {output}",
            why=f"a file whose name ends in {output.suffix if output else ''} is taken for {named}",
            fix="leave --format out, or give the file another name",
        )
    return asked or named or "csv"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=["csv", "parquet"], help="csv or parquet; by default the ending of FILE, else csv"
    )
    parser.add_argument(
        "--output", type=a_path, metavar="FILE", help="write the table there instead of to stdout (-)"
    )
    parser.add_argument(
        "--repetitions",
        action="store_true",
        help="one row for each repetition instead of one for each record",
    )


COMMAND = Command(
    name="export",
    summary="write all records, of every profile, as one table (CSV or Parquet)",
    takes=("--arch", "--only", "--seeds", "--limits", "--results"),
    notes=("What each column holds: runner/report/export/README.md.",),
    add_options=_add_options,
    examples=(
        "export --only dqn --output dqn.csv",
        "export --results 2026-11-22-dqn-full --output dqn.parquet",
    ),
    run=_run,
)
