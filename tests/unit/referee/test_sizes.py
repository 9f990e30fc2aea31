"""How many repetitions the referee orders."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.matrix.load import load_matrix
from runner.records.refereed import SIZES, numbered
from runner.records.verdicts import calls_of
from runner.referee.sizes import REHEARSED, Plan, longer

SECONDS = st.floats(1e-9, 1e3)
BENCHMARKS = load_matrix(Path(__file__).parents[3] / "matrix.yaml").benchmarks
# Of a nonce's stream; docs/protocol.md and rust/crates/torchforge-referee/src/number.rs.
NUMBERS = 2**32


@given(SECONDS, SECONDS, st.integers(2, 200), st.none() | st.floats(0.01, 10), st.integers(1, 5))
def test_a_ranked_round_has_a_known_size_and_a_window_that_says_something(
    seconds: float, channel: float, repetitions: int, limit: float | None, least: int
) -> None:
    plan = Plan(warmup=2, repetitions=repetitions, seconds_limit=limit, least_repetitions=least)
    size = plan.ranked_round(seconds, channel_seconds=channel)
    assert size in SIZES
    assert size == SIZES[-1] or size * seconds >= 20 * channel
    assert size >= min(repetitions, least) or size == SIZES[-1]


def test_a_limit_of_seconds_is_kept_beyond_the_least_repetitions() -> None:
    plan = Plan(repetitions=100, seconds_limit=1.0, least_repetitions=5)
    assert plan.ranked_round(0.02, channel_seconds=1e-4) == 100
    assert plan.ranked_round(0.05, channel_seconds=1e-4) == 20
    assert plan.ranked_round(7.0, channel_seconds=1e-4) == 5


def test_a_profile_of_one_repetition_has_one() -> None:
    one = Plan.of({"length": 8, "warmup": 0, "repetitions": 1}, training=False)
    assert one.ranked_round(1e-6, channel_seconds=1.0) == 1
    assert not one.repeated
    assert Plan.of({"steps": 500}, training=True).sizes(1.0, channel_seconds=1e-3) == (1,)


def test_warming_up_ends_at_half_of_the_limit() -> None:
    plan = Plan(warmup=10, repetitions=100, seconds_limit=1.0)
    assert plan.warm_up(1e-3) == 10
    assert plan.warm_up(0.2) == 2
    assert plan.warm_up(3.0) == 0


def test_a_longer_round_is_the_next_size_up_to_the_last() -> None:
    assert [longer(size) for size in SIZES] == [*SIZES[1:], SIZES[-1]]


def test_two_sizes_share_no_repetition_and_none_with_what_is_rehearsed() -> None:
    rounds = [numbered(size) for size in SIZES]
    assert sum(map(len, rounds)) == len(set().union(*rounds))
    assert max(each.stop for each in rounds) <= REHEARSED


@given(SECONDS, st.floats(1e-6, 0.1), st.floats(1, 1000))
def test_a_reference_is_asked_for_each_size_that_a_competitor_may_need(
    seconds: float, channel: float, times: float
) -> None:
    plan = Plan(repetitions=100, seconds_limit=1.0, least_repetitions=5)
    sizes = plan.sizes(seconds, channel_seconds=channel)
    assert plan.ranked_round(seconds / times, channel_seconds=channel, most=max(sizes)) in sizes


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_call_of_the_shipped_matrix_has_a_number_in_what_is_rehearsed_too(name: str) -> None:
    calls = max(calls_of(case.parameters) for case in BENCHMARKS[name].cases.values())
    assert (REHEARSED + 1) * calls <= NUMBERS
