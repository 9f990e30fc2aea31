"""The newest record counts, and a clock that was wrong makes none the newest."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from runner.records.order import future_in_words, oldest_first
from runner.records.record import Record

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def made(name: str, when: datetime | str) -> Record:
    return Record(data={"id": name, "created_at": when if isinstance(when, str) else when.isoformat()})


def order(*records: Record, now: datetime = NOW) -> list[str]:
    return [record.identifier for record in oldest_first(records, now=now)]


def test_records_are_ordered_by_when_they_were_made() -> None:
    assert order(made("b", NOW), made("a", NOW - timedelta(days=1))) == ["a", "b"]


def test_a_record_of_a_clock_that_was_ahead_is_older_than_all_others() -> None:
    ahead, before = made("ahead", NOW + timedelta(days=400)), made("before", NOW - timedelta(days=1))
    assert order(before, ahead) == ["ahead", "before"]


def test_where_this_clock_went_back_what_it_makes_now_is_the_newest() -> None:
    today, then = made("today", NOW), made("then", NOW - timedelta(days=20_000))
    assert order(today, then, now=NOW - timedelta(days=20_000)) == ["today", "then"]


def test_clocks_that_differ_by_minutes_are_believed() -> None:
    assert order(made("a", NOW + timedelta(minutes=5)), made("b", NOW)) == ["b", "a"]


def test_a_zone_is_part_of_a_time() -> None:
    east = timezone(timedelta(hours=8))
    assert order(made("later", NOW), made("earlier", NOW.astimezone(east) - timedelta(hours=1))) == [
        "earlier",
        "later",
    ]


@pytest.mark.parametrize(
    "when", ["yesterday", "2026-06-01", "2026-06-01T12:00:00", "9999-12-31T23:59:59-23:59"]
)
def test_what_is_no_time_is_older_than_any(when: str) -> None:
    assert order(made("b", NOW - timedelta(days=40_000)), made("a", when)) == ["a", "b"]


def test_records_of_the_future_are_told() -> None:
    assert future_in_words([made("a", NOW)], now=NOW) is None
    warning = future_in_words([made("a", NOW), made("b", NOW + timedelta(days=400))], now=NOW)
    assert warning is not None
    assert warning.startswith("1 records are dated after")
    assert "2027-07-06" in warning
