"""How many repetitions the referee orders."""

from hypothesis import given
from hypothesis import strategies as st

from runner.referee.sizes import SIZES, Plan, longer

SECONDS = st.floats(1e-9, 1e3)


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
    assert plan.ranked_round(0.02, channel_seconds=1e-4) == 50
    assert plan.ranked_round(7.0, channel_seconds=1e-4) == 5


def test_a_profile_of_one_repetition_has_one() -> None:
    assert Plan.of({"length": 8, "warmup": 0, "repetitions": 1}).ranked_round(1e-6, channel_seconds=1.0) == 1
    assert Plan.of({"steps": 500}).sizes() == (1,)


def test_warming_up_ends_at_half_of_the_limit() -> None:
    plan = Plan(warmup=10, repetitions=100, seconds_limit=1.0)
    assert plan.warm_up(1e-3) == 10
    assert plan.warm_up(0.2) == 2
    assert plan.warm_up(3.0) == 0


def test_a_longer_round_is_the_next_size_up_to_the_last() -> None:
    assert [longer(size) for size in SIZES] == [*SIZES[1:], SIZES[-1]]
