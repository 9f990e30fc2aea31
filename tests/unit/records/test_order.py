"""The newest record counts, and a clock that was wrong makes none the newest."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from example_records import make_record
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from runner.records.order import future_in_words, oldest_first
from runner.records.record import Record

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
EXAMPLE = make_record()
ZONES = st.integers(min_value=-14 * 60, max_value=14 * 60).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)


def made(name: str, when: datetime | str) -> Record:
    text = when if isinstance(when, str) else when.isoformat()
    return structs.replace(EXAMPLE, identifier=name, created_at=text)


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


@given(
    times=st.lists(
        st.datetimes(max_value=datetime(2026, 6, 1, 12), timezones=ZONES),
        max_size=6,
    )
)
def test_a_zone_is_part_of_a_time(times: list[datetime]) -> None:
    records = [made(f"{place}", time) for place, time in enumerate(times)]
    past = [record for record in records if datetime.fromisoformat(record.created_at) <= NOW]
    found = [datetime.fromisoformat(record.created_at) for record in oldest_first(past, now=NOW)]
    assert all(one <= later for one, later in pairwise(found))


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_at_an_end_of_the_calendar_has_a_place(when: str) -> None:
    records = [made("far", when), made("b", NOW), made("ahead", NOW + timedelta(days=1))]
    assert order(*records) == ["ahead", "far", "b"]
    assert (future_in_words([made("far", when)], now=NOW) is None) is when.startswith("0001")


def test_records_of_the_future_are_told() -> None:
    assert future_in_words([made("a", NOW)], now=NOW) is None
    warning = future_in_words([made("a", NOW), made("b", NOW + timedelta(days=400))], now=NOW)
    assert warning is not None
    assert warning.startswith("1 record is dated after")
    assert "2027-07-06" in warning
    both = future_in_words([made("b", NOW + timedelta(days=days)) for days in (1, 2)], now=NOW)
    assert both is not None
    assert both.startswith("2 records are dated after")
