"""Notes below the title of a page: what a reader has to know who came by a link to this page alone."""

from collections import Counter
from collections.abc import Mapping, Sequence

from runner.records.ledger.commits import Source
from runner.records.record import Record

_UNKNOWN = "an unknown commit"


def noted(text: str, notes: Sequence[str]) -> str:
    """The page with the notes below its title."""
    title, _, rest = text.partition("\n")
    quoted = "".join(f"\n> {note}\n" for note in notes)
    return f"{title}\n{quoted}{rest}"


def commit_notes(records: Sequence[Record], sources: Mapping[str, Source]) -> tuple[str, ...]:
    """At which commits the records were measured; nothing where nobody knows it of any."""
    counts = Counter(_words(sources.get(record.content_sha256)) for record in records)
    if not counts.keys() - {_UNKNOWN}:
        return ()
    if len(counts) == 1:
        return (f"Measured at {next(iter(counts))}.",)
    each = ", ".join(
        f"{words} ({count} {'cell' if count == 1 else 'cells'})" for words, count in counts.most_common()
    )
    return (f"Measured at several commits: {each}.",)


def _words(source: Source | None) -> str:
    if source is None:
        return _UNKNOWN
    return f"commit {source.commit}{' with changed files' * source.changed}"
