import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from runner.figures.statistics import (
    Interval,
    Verdict,
    figure,
    figure_interval,
    interquartile_mean,
    outliers,
    ratio_interval,
    resampled_medians,
    spread,
    verdict,
)
from runner.report.tables.coverage import KEPT, kept
from tools.simulate_coverage import MODELS, SIZES, simulate

TIMES = st.floats(min_value=1e-9, max_value=1e4)
PROCESSES = st.lists(st.lists(TIMES, min_size=1, max_size=8), min_size=2, max_size=7)
FEW = examples(40)
RESAMPLES = 500


def test_a_figure_is_the_median_over_processes_of_their_medians() -> None:
    assert figure([[1, 2, 90], [4, 4, 4], [3, 5, 70]]) == 4


def test_a_figure_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one process"):
        figure([])
    with pytest.raises(ValueError, match="at least one value"):
        figure([[1.0], []])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 10, 50])
def test_a_drawn_median_has_the_distribution_of_a_naively_resampled_one(count: int) -> None:
    # Squares make all values and all means of neighbours distinct.
    ordered = np.arange(1, count + 1, dtype=float) ** 2
    size = 100_000
    generator = np.random.default_rng(7)
    drawn = resampled_medians(ordered, size, generator)
    naive = np.median(ordered[generator.integers(count, size=(size, count))], axis=1)
    assert set(np.unique(drawn)) <= set(ordered) | {(a + b) / 2 for a in ordered for b in ordered}
    points = np.union1d(drawn, naive)
    distance = np.abs(
        np.searchsorted(np.sort(drawn), points, side="right")
        - np.searchsorted(np.sort(naive), points, side="right")
    ).max()
    # Kolmogorov-Smirnov: two equal distributions differ by more than this once in a thousand.
    assert distance / size < 1.95 * math.sqrt(2 / size)


def test_a_drawn_median_of_three_has_the_probabilities_that_counting_gives() -> None:
    # Of 27 resamples of three values 7 have the least as their median, 13 the middle one, 7 the greatest.
    drawn = resampled_medians(np.array([1.0, 2.0, 3.0]), 270_000, np.random.default_rng(3))
    shares = [float(np.mean(drawn == value)) * 27 for value in (1, 2, 3)]
    assert shares == pytest.approx([7, 13, 7], abs=0.1)


def test_one_process_has_a_figure_and_no_interval() -> None:
    assert figure_interval([[3.0, 1.0, 2.0]]) == Interval(value=2.0, low=None, high=None, n=1)


def test_fewer_than_five_processes_have_an_interval_and_are_not_ranked() -> None:
    found = figure_interval([[1.0], [2.0], [3.0], [4.0]])
    assert found.low is not None
    assert not found.ranked
    assert figure_interval([[1.0], [2.0], [3.0], [4.0], [5.0]]).ranked


def test_repetitions_do_not_count_as_processes() -> None:
    assert figure_interval([[1.0] * 1000, [2.0] * 1000]).n == 2


def test_the_interval_of_single_values_stays_within_them() -> None:
    found = figure_interval([[value] for value in (3.0, 1.0, 5.0, 2.0, 4.0)])
    assert (found.value, found.low, found.high) == (3.0, 1.0, 5.0)


def test_an_interval_leaves_out_two_and_a_half_percent_at_each_end() -> None:
    # Of nine values a resample's median is the second least or less in 3.0 % of resamples, the least in 0.1 %. So
    # 95 % end at the second value of each end, 90 % at the third, and 99.9 % at the first.
    values = [float(value) for value in range(1, 10)]
    found = figure_interval([[value] for value in values])
    assert (found.low, found.high) == (2.0, 8.0)
    # Nine of one value on the other side leave the ratio's interval to the nine that differ.
    ratio = ratio_interval([[value] for value in values], [[1.0]] * 9)
    assert (ratio.low, ratio.high) == pytest.approx((2.0, 8.0))


@FEW
@given(processes=PROCESSES, exponent=st.integers(min_value=-20, max_value=20))
def test_scaling_times_scales_figure_and_interval(processes: list[list[float]], exponent: int) -> None:
    factor = 2.0**exponent
    before = figure_interval(processes, resamples=RESAMPLES)
    after = figure_interval([[value * factor for value in each] for each in processes], resamples=RESAMPLES)
    assert [after.value, after.low, after.high] == pytest.approx(
        [value * factor for value in (before.value, before.low, before.high)], rel=1e-12
    )


@FEW
@given(processes=PROCESSES, other=PROCESSES, factor=st.floats(min_value=1e-3, max_value=1e3))
def test_scaling_both_sides_leaves_the_ratio(
    processes: list[list[float]], other: list[list[float]], factor: float
) -> None:
    def scaled(sides: list[list[float]]) -> list[list[float]]:
        return [[value * factor for value in each] for each in sides]

    before = ratio_interval(processes, other, resamples=RESAMPLES)
    after = ratio_interval(scaled(processes), scaled(other), resamples=RESAMPLES)
    assert [after.value, after.low, after.high] == pytest.approx(
        [before.value, before.low, before.high], rel=1e-6
    )


@FEW
@given(processes=PROCESSES)
def test_the_ratio_of_a_side_with_itself_holds_one(processes: list[list[float]]) -> None:
    found = ratio_interval(processes, processes, resamples=RESAMPLES)
    assert found.value == 1
    assert found.low <= 1 <= found.high
    assert verdict(found) in (Verdict.INCONCLUSIVE, Verdict.NOT_RANKED)


@FEW
@given(one=PROCESSES, other=PROCESSES)
def test_swapping_the_sides_of_a_ratio_gives_the_reciprocal(
    one: list[list[float]], other: list[list[float]]
) -> None:
    # Equal sides have nothing to swap.
    assume(sorted(map(sorted, one)) != sorted(map(sorted, other)))
    there, back = (ratio_interval(*sides, resamples=RESAMPLES) for sides in ((one, other), (other, one)))
    assert [there.value, there.low, there.high] == pytest.approx(
        [1 / back.value, 1 / back.high, 1 / back.low], rel=1e-9
    )


@FEW
@given(processes=PROCESSES, data=st.data())
def test_the_order_of_processes_and_repetitions_changes_nothing(
    processes: list[list[float]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations([data.draw(st.permutations(each)) for each in processes]))
    assert figure_interval(shuffled, resamples=RESAMPLES) == figure_interval(processes, resamples=RESAMPLES)


@FEW
@given(processes=PROCESSES)
def test_an_interval_stays_within_the_values(processes: list[list[float]]) -> None:
    found = figure_interval(processes, resamples=RESAMPLES)
    values = [value for each in processes for value in each]
    assert min(values) <= found.low <= found.high <= max(values)


def test_a_ratio_counts_the_side_with_fewer_processes() -> None:
    assert ratio_interval([[1.0]] * 7, [[2.0]] * 5).n == 5


def test_a_ratio_of_a_time_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        ratio_interval([[1.0], [0.0]], [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("low", "high", "n", "expected"),
    [
        (1.1, 1.3, 5, Verdict.FASTER),
        (0.7, 0.9, 5, Verdict.SLOWER),
        (0.9, 1.1, 5, Verdict.INCONCLUSIVE),
        (1.0, 1.1, 5, Verdict.INCONCLUSIVE),
        (1.1, 1.3, 4, Verdict.NOT_RANKED),
        (None, None, 1, Verdict.NOT_RANKED),
    ],
)
def test_a_verdict_needs_an_interval_without_one_and_five_processes(
    low: float | None, high: float | None, n: int, expected: Verdict
) -> None:
    assert verdict(Interval(value=1.0, low=low, high=high, n=n)) is expected


def test_a_process_far_apart_is_flagged_and_still_counts() -> None:
    processes = [[1.00], [1.01], [0.99], [1.02], [9.0]]
    assert outliers(processes) == (4,)
    assert figure_interval(processes).n == 5


def test_a_single_other_value_among_equal_ones_is_flagged_where_it_is_far() -> None:
    assert outliers([[1.0]] * 9 + [[2.0]]) == (9,)
    assert outliers([[1.0]] * 5) == ()


def test_an_outlier_is_named_by_the_place_that_the_caller_gave_it() -> None:
    assert outliers([[9.0], [1.00], [1.01], [0.99], [1.02]]) == (0,)


def test_returns_have_a_mean_and_a_sample_deviation() -> None:
    found = spread([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.n) == (2.5, 4)
    assert found.deviation == pytest.approx(math.sqrt(5 / 3))
    assert spread([7.0]).deviation is None


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end() -> None:
    assert interquartile_mean([0, 10, 11, 12, 1000]).value == 11
    assert interquartile_mean([1, 2, 3]).value == 2
    assert interquartile_mean([5.0]).low is None


def test_the_interval_of_an_interquartile_mean_lies_around_it() -> None:
    found = interquartile_mean([470, 480, 485, 490, 200])
    assert 200 <= found.low < found.value < found.high <= 490


def test_the_kept_coverage_covers_every_model_and_size() -> None:
    assert KEPT.is_file()
    assert {(each.model, each.n) for each in kept()} == {(model, n) for model in MODELS for n in SIZES}


@pytest.mark.parametrize("model", list(MODELS))
def test_the_kept_coverage_is_what_a_shorter_simulation_finds(model: str) -> None:
    found = simulate(model, 5, trials=200, resamples=500)
    expected = next(each for each in kept() if (each.model, each.n) == (model, 5))
    # Four standard errors of 200 trials near 95 %.
    assert found.figure == pytest.approx(expected.figure, abs=0.065)
    assert found.ratio == pytest.approx(expected.ratio, abs=0.055)
