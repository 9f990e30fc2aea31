"""Which of two records is the newer one, by clocks that may have been wrong."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from runner.records.record import Record

# Two machines that share a folder need not agree to the minute.
_MARGIN = timedelta(minutes=10)
_NEVER = datetime.min.replace(tzinfo=UTC)
Age = tuple[bool, datetime, str]


def oldest_first(records: Iterable[Record], *, now: datetime | None = None) -> list[Record]:
    """The records by age. Those that are dated after ``now`` (None: this clock) come first: nothing may rest on them."""
    clock = now or datetime.now(UTC)
    return sorted(records, key=lambda record: age(record, now=clock))


def age(record: Record, *, now: datetime | None = None) -> Age:
    """What records are ordered by: the smaller, the older."""
    created = _created(record)
    return (created <= (now or datetime.now(UTC)) + _MARGIN, created, record.identifier)


def future_in_words(records: Iterable[Record], *, now: datetime | None = None) -> str | None:
    """A warning where records are dated after ``now``, or None."""
    clock = now or datetime.now(UTC)
    ahead: Sequence[Record] = [record for record in records if not age(record, now=clock)[0]]
    if not ahead:
        return None
    last = max(ahead, key=_created)
    return (
        f"{len(ahead)} records are dated after this machine's clock ({clock:%Y-%m-%d %H:%M} UTC), the last "
        f"{_created(last):%Y-%m-%d}: they count as the oldest; set the clock, or run their cells again with --fresh"
    )


def _created(record: Record) -> datetime:
    """When it was made. What says no time with a zone is older than everything that does."""
    try:
        created = datetime.fromisoformat(record.data["created_at"])
        return created.astimezone(UTC) if created.tzinfo else _NEVER
    except (ValueError, OverflowError):
        return _NEVER
