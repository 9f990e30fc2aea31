"""The row of a publication in the table of results/published/README.md."""

from collections.abc import Sequence
from pathlib import Path

from runner.publishing.files import Origin
from runner.records.publication import Publication
from runner.report.tables import units
from runner.report.tables.markdown import escape
from runner.system.bounded_reading import read_bounded
from runner.system.files import write_atomically

_LARGEST = 2**20
_SHORT = 7


def row_of(publication: Publication, origin: Origin) -> str:
    """The row: the page to begin with, machine and commit, and what was run, with all that every page says."""
    facts = publication.facts
    name = facts["name"]
    page = next(path for path in facts["files"] if path.endswith("/overview.md"))
    processors = sorted({units.or_unknown(each["facts"].get("cpu_model")) for each in facts["machines"]})
    where = f"{origin.machine or escape('; '.join(processors))}, {facts['commit'][:_SHORT]}"
    return f"| [{name}]({name}/{page}) | {where} | {origin.what} |"


def add_row(table: Path, row: str) -> bool:
    """Add the row behind the last one of the table of folders; False where there is no such table."""
    if not table.is_file():
        return False
    lines: Sequence[str] = read_bounded(table, _LARGEST).decode().split("\n")
    starts = [index for index, line in enumerate(lines) if line.startswith("| folder |")]
    if not starts:
        return False
    end = next(
        (index for index in range(starts[0], len(lines)) if not lines[index].startswith("|")), len(lines)
    )
    write_atomically(table, "\n".join([*lines[:end], row, *lines[end:]]))
    return True
