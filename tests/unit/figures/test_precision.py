"""How many processes are enough: the estimate follows from the width, and more processes bear it out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.figures.precision import enough, enough_to_decide, precision
from runner.figures.statistics import Interval, figure_interval, ratio_interval
from runner.report.tables.units import would_decide

VALUES = st.floats(1e-6, 1e6)
WIDTHS = st.floats(1e-4, 1.0)


def interval(value: float, half: float, n: int = 5) -> Interval:
    return Interval(value=value, low=value * math.exp(-half), high=value * math.exp(half), n=n)


@given(VALUES, WIDTHS, WIDTHS)
def test_twice_as_precise_takes_four_times_as_many(value, half, target):
    found = enough(interval(value, half), target)
    assert found == max(5, math.ceil(5 * (precision(interval(value, half)) / target) ** 2))
    assert enough(interval(value, half), half * 1.001) == 5


@given(st.floats(0.5, 2.0).filter(lambda value: abs(math.log(value)) > 1e-3), WIDTHS)
def test_a_ratio_and_its_reciprocal_need_the_same_number(value, half):
    there, back = enough_to_decide(interval(value, half)), enough_to_decide(interval(1 / value, half))
    assert abs(there - back) <= 1


def test_one_process_and_a_ratio_of_exactly_one_give_no_number():
    assert precision(Interval(value=1.0, low=None, high=None, n=1)) is None
    assert enough(Interval(value=1.0, low=None, high=None, n=1), 0.02) is None
    assert enough_to_decide(interval(1.0, 0.1)) is None


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (interval(1.1, 0.2), "about 23 processes a side would decide it"),
        (interval(1.0001, 0.2), "more than 1,000 processes a side would be needed to decide it"),
        (interval(1.0, 0.2), "more than 1,000 processes a side would be needed to decide it"),
    ],
)
def test_the_page_says_it_in_words(ratio, said):
    assert would_decide(ratio) == said


def test_as_many_processes_as_the_estimate_says_are_about_as_precise_as_asked():
    """Over many experiments the number that twenty processes ask for reaches the target within a quarter."""
    generator = np.random.default_rng(42)

    def processes(n: int) -> list[list[float]]:
        return [[value] for value in np.exp(0.05 * generator.standard_normal(n)).tolist()]

    reached = []
    for _ in range(40):
        needed = enough(figure_interval(processes(20), resamples=500), 0.012)
        reached.append(precision(figure_interval(processes(needed), resamples=500)))
    assert 0.75 * 0.012 < float(np.median(reached)) < 1.25 * 0.012


def test_as_many_as_would_decide_do_decide_about_half_of_the_time():
    """The estimate puts the bound at 1, so chance decides on which side it falls."""
    generator = np.random.default_rng(7)

    def side(n: int, factor: float) -> list[list[float]]:
        return [[factor * value] for value in np.exp(0.05 * generator.standard_normal(n)).tolist()]

    decided = 0
    for _ in range(40):
        needed = enough_to_decide(ratio_interval(side(60, 1.03), side(60, 1.0), resamples=500))
        found = ratio_interval(side(needed, 1.03), side(needed, 1.0), resamples=500)
        decided += found.low > 1
    assert decided >= 8
