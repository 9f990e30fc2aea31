"""``forge-bench show``: one record on one screen, or all of it as JSON."""

import argparse
import json
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.records.record import Record
from runner.records.source import address_of, record_beginning
from runner.report.record_page import record_page
from runner.system.errors import UsageError
from runner.verify.read import read_records


def _run(context: Context) -> int:
    record = _named(str(context.own.record), context)
    if context.own.json:
        # ASCII alone: a text in a record may hold characters that control a terminal.
        print(json.dumps(record.plain(), indent=1, allow_nan=False))
    else:
        print(record_page(record))
    return 0


def _named(text: str, context: Context) -> Record:
    address = address_of(text, context.published)
    if address.prefix is None:
        return _in_results(text, context)
    if context.results_are_named:
        raise UsageError(
            what="the records to look in are named twice",
            why=f"--results names one place, and {text} another",
            fix="leave out --results, or give PREFIX alone",
        )
    return record_beginning(read_records(address.path), address.prefix)


def _in_results(text: str, context: Context) -> Record:
    """The record of a file, or the record in the results directory with this prefix."""
    if Path(text).is_file() and not context.results_are_named:
        records = read_records(Path(text))
        return records[0] if len(records) == 1 else record_beginning(records, "")
    return record_beginning(context.source.records(), text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record",
        type=Path,
        metavar="[PUBLICATION#]PREFIX",
        help="the start of a record's identifier or content hash; of a publication or a directory before #",
    )
    parser.add_argument("--json", action="store_true", help="print the whole record as JSON")


COMMAND = Command(
    name="show",
    summary="show one record: its figures, origin, gate checks and failure",
    takes=("--results",),
    add_options=_add_options,
    run=_run,
)
