"""``forge-bench show``: one record on one screen, or all of it as JSON."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.records.publication import is_publication
from runner.records.record import Record
from runner.records.source import address_of, record_beginning, source_at
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
        if not context.results_are_named and _has_records(address.path):
            raise _no_record_of(text, source_at(address.path).records())
        return _in_results(text, context)
    if context.results_are_named:
        raise UsageError(
            what="the records to look in are named twice",
            why=f"--results names one place, and {text} another",
            fix="leave out --results, or give PREFIX alone",
        )
    opened = context.publication_at(address.path)
    return record_beginning(read_records(address.path, opened=opened), address.prefix)


def _has_records(folder: Path) -> bool:
    """Whether ``folder`` is a publication or a results directory."""
    return is_publication(folder) or (folder / "records").is_dir()


def _no_record_of(place: str, records: Sequence[Record]) -> UsageError:
    """The error for a publication or a results directory in the place of a record."""
    count = "1 record" if len(records) == 1 else f"{len(records)} records"
    example = f", such as {place}#{records[-1].identifier}" if records else ""
    return UsageError(
        what=f"{place} holds {count}, and show prints one",
        why="a publication or a directory needs #PREFIX, the start of a record's identifier or content hash",
        fix=f"give {place}#PREFIX{example}; summary.csv of a publication and forge-bench export list identifiers",
    )


def _in_results(text: str, context: Context) -> Record:
    """The record of a file, or the record in the results directory with this prefix."""
    if Path(text).is_file() and not context.results_are_named:
        records = read_records(Path(text))
        return records[0] if len(records) == 1 else record_beginning(records, "")
    return record_beginning(context.source.records(), text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record",
        type=a_path,
        metavar="[PUBLICATION#]PREFIX",
        help="the start of a record's identifier or content hash; of a publication or a directory before #",
    )
    parser.add_argument("--json", action="store_true", help="print the whole record as JSON")


COMMAND = Command(
    name="show",
    summary="show one record: its figures, origin, gate checks and failure",
    takes=("--results",),
    add_options=_add_options,
    examples=("show 2026-11-22-dqn-full#20261122T08",),
    run=_run,
)
