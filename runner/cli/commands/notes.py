"""What pages of records say below their title: the commits that the records were measured at."""

from collections.abc import Sequence

from runner.cli.commands.base import Context
from runner.records.ledger.commits import sources_of
from runner.records.ledger.file import read_ledger
from runner.records.record import Record
from runner.records.store import LEDGER, Store
from runner.report.tables.notes import commit_notes
from runner.system.errors import DamagedLedger


def notes_on(context: Context, records: Sequence[Record]) -> tuple[str, ...]:
    """The notes on pages of these records, which the call reads or has made."""
    if not records:
        return ()
    source = context.source
    # In a store no link is followed; a publication was held to its hashes when it was opened.
    place = source.ledger_path if isinstance(source, Store) else source.root / LEDGER
    try:
        lines = read_ledger(place).lines
    except DamagedLedger:
        return ("The ledger beside these records is damaged, so nobody knows their commits.",)
    return commit_notes(records, sources_of(lines))
