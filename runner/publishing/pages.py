"""The pages of a publication: those that any rendering gives, with what every reader has to know on each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.matrix import load_matrix
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.html.report import pages_with_report
from runner.report.tables.markdown import escape

MATRIX = "matrix.yaml"
# From a page in NAME/tables/PROFILE.
_PUBLISHED = "../../.."


def pages_of(folder: Path, facts: Mapping[str, Any], records: Sequence[Record]) -> dict[str, bytes]:
    """Every page by its path below the publication's folder, which holds the matrix.

    The same records, matrix and facts give the same bytes.
    """
    matrix = load_matrix(folder / MATRIX, builds=False)
    newest = list(newest_by_key(records).values())
    notes = [_origin(facts), *notes_of(facts)]
    profiles = {plan["profile"] for plan in facts["plans"] if plan["commit"] == facts["commit"]}
    files: dict[str, bytes] = {}
    for profile in sorted(profiles):
        pages = pages_with_report(matrix, newest, profile=profile, published=_PUBLISHED, notes=notes)
        files |= {f"tables/{profile}/{name}": text.encode() for name, text in pages.items()}
    return files


def _origin(facts: Mapping[str, Any]) -> str:
    """The publication and the commit that was measured, for a reader who came by a link to this page alone."""
    return f"Publication {escape(facts['name'])}, measured at commit {escape(facts['commit'])}."


def notes_of(facts: Mapping[str, Any]) -> list[str]:
    """What every page and the row of a publication have to say; empty where nothing has to be said."""
    flags = [f"**Taken on a loaded machine.** {escape(text)}" for text in facts["flags"]]
    unclosed = [plan["plan"] for plan in facts["plans"] if plan["ended"] is None]
    if unclosed:
        one = len(unclosed) == 1
        flags.append(
            f"{'Plan' if one else 'Plans'} {', '.join(unclosed)} {'was' if one else 'were'} not closed, "
            f"so {'its' if one else 'their'} nonces cannot be checked."
        )
    return flags
