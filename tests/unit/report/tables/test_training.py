import pytest
from example_records import episodes_reaching

from runner.records.measured import Episode
from runner.report.tables.learning import mean_of_last, steps_to_threshold


def test_the_mean_is_over_the_last_episodes_only() -> None:
    assert mean_of_last(episodes_reaching(480), 3) == 480


def test_the_mean_is_over_all_where_there_are_fewer() -> None:
    assert mean_of_last(episodes_reaching(480)[:2], 3) == 60


def test_no_episode_has_no_mean() -> None:
    assert mean_of_last([], 3) is None


def test_the_threshold_is_reached_at_the_first_full_window() -> None:
    # 20 + 100 + 300 steps, then episodes of 480: the third of those fills the window.
    assert steps_to_threshold(episodes_reaching(480), 3, 475) == 420 + 3 * 480


def test_a_window_that_is_not_full_reaches_nothing() -> None:
    early = [Episode(step=499, length=500, total=500.0), Episode(step=999, length=500, total=500.0)]
    assert steps_to_threshold(early, 3, 475) is None


def test_a_mean_equal_to_the_threshold_reaches_it() -> None:
    assert steps_to_threshold(episodes_reaching(475), 3, 475) == 420 + 3 * 475


def test_without_a_threshold_nothing_is_reached() -> None:
    assert steps_to_threshold(episodes_reaching(480), 3, None) is None


@pytest.mark.parametrize("score", [20, 474])
def test_a_threshold_that_is_never_reached_is_none(score: float) -> None:
    assert steps_to_threshold(episodes_reaching(score), 3, 475) is None
