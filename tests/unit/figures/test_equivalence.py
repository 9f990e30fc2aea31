"""Two one-sided tests on bounded returns: how often they err, and how often they find what is the same."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from runner.figures.equivalence import Difference, Equivalence, difference, judged
from runner.matrix import EquivalenceRule, load_matrix

RULE = EquivalenceRule(margin=25, worst=22, best=500, deviation=16, seeds=75)
DRAWS = 500
Values = NDArray[np.float64]
ROOT = Path(__file__).parents[3]


def share_found_equivalent(ours, reference, rule: EquivalenceRule, trials: int, seed: int = 1) -> float:
    """How often so many seeds of either distribution are called equivalent."""
    generator = np.random.default_rng(seed)
    verdicts = [
        judged(difference(ours(generator).tolist(), reference(generator).tolist(), rule, draws=DRAWS), rule)
        for _ in range(trials)
    ]
    return verdicts.count(Equivalence.EQUIVALENT) / trials


def perfect(_: np.random.Generator) -> Values:
    return np.full(RULE.seeds, 500.0)


AT_THE_MARGIN = {
    "one seed in nineteen learns nothing": lambda draw: np.where(draw.random(75) < 25 / 478, 22.0, 500.0),
    "one seed in ten half fails": lambda draw: np.where(draw.random(75) < 0.1, 250.0, 500.0),
    "a tail below the best": lambda draw: np.maximum(500 - draw.exponential(25, 75), 22),
    "all seeds a little worse": lambda _: np.full(75, 475.0),
    "two groups": lambda draw: np.where(draw.random(75) < 0.5, 450.0, 500.0),
}


@pytest.mark.parametrize("name", AT_THE_MARGIN)
def test_what_differs_by_the_margin_is_called_equivalent_once_in_twenty_at_most(name):
    worse = AT_THE_MARGIN[name]
    assert share_found_equivalent(worse, perfect, RULE, trials=400) <= 0.05
    assert share_found_equivalent(perfect, worse, RULE, trials=400) <= 0.05


@examples(12, derandomize=True)
@given(
    atoms=st.lists(st.floats(min_value=100, max_value=500), min_size=1, max_size=5),
    failure=st.floats(min_value=22, max_value=60),
)
def test_whatever_the_distribution_a_difference_of_the_margin_is_rarely_missed(atoms, failure):
    mean = float(np.mean(atoms))
    share = RULE.margin / (mean - failure)

    def reference(draw: np.random.Generator) -> Values:
        return draw.choice(atoms, RULE.seeds)

    def worse(draw: np.random.Generator) -> Values:
        return np.where(draw.random(RULE.seeds) < share, failure, draw.choice(atoms, RULE.seeds))

    # The share's standard error is 0.015 where it is 0.05.
    assert share_found_equivalent(worse, reference, RULE, trials=200) <= 0.05 + 0.03


def test_students_interval_would_miss_the_failures_that_are_rare():
    """Why the interval is not Student's: the same seeds, the same margin, four times as many errors as it says."""
    generator, missed, trials = np.random.default_rng(1), 0, 2000
    rare = AT_THE_MARGIN["one seed in nineteen learns nothing"]
    for _ in range(trials):
        values = rare(generator)
        # 1.666 is Student's 95 % quantile at 74 degrees of freedom.
        missed += 500 - values.mean() + 1.666 * values.std(ddof=1) / 75**0.5 < RULE.margin
    assert missed / trials > 0.08


@pytest.mark.parametrize("benchmark", ["dqn", "ppo", "sac"])
def test_the_planned_seeds_find_equal_returns_equivalent_nine_times_in_ten(benchmark):
    returns = load_matrix(ROOT / "matrix.yaml").benchmarks[benchmark].returns
    assert returns is not None
    (rule,) = returns.equivalence.values()

    def agent(draw: np.random.Generator) -> Values:
        return np.maximum(rule.best - draw.exponential(rule.deviation, rule.seeds), rule.worst)

    assert share_found_equivalent(agent, agent, rule, trials=200) >= 0.9


def test_fewer_seeds_than_planned_give_no_verdict():
    same = [500.0] * 74
    assert judged(difference(same, same, RULE, draws=DRAWS), RULE) is Equivalence.INCONCLUSIVE
    assert judged(difference([*same, 500.0], [*same, 500.0], RULE), RULE) is Equivalence.EQUIVALENT


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-24.9, 24.9, Equivalence.EQUIVALENT),
        (-25.0, 3.0, Equivalence.INCONCLUSIVE),
        (3.0, 25.0, Equivalence.INCONCLUSIVE),
        (25.1, 60.0, Equivalence.NOT_EQUIVALENT),
        (-60.0, -25.1, Equivalence.NOT_EQUIVALENT),
        (-60.0, 60.0, Equivalence.INCONCLUSIVE),
    ],
)
def test_the_verdict_is_the_intervals_place(low, high, verdict):
    assert judged(Difference(value=0.0, low=low, high=high, n=75), RULE) is verdict


@examples(25)
@given(
    ours=st.lists(st.floats(min_value=-1e4, max_value=1e4), min_size=1, max_size=12),
    reference=st.lists(st.floats(min_value=-1e4, max_value=1e4), min_size=1, max_size=12),
)
def test_the_interval_holds_the_difference_and_the_order_of_seeds_changes_nothing(ours, reference):
    # All draws that a verdict has: with fewer, the noise of a mirrored interval reached the bound below.
    found = difference(ours, reference, RULE)
    assert found == difference(ours[::-1], reference[::-1], RULE)
    assert found.low <= found.high
    assert found.n == min(len(ours), len(reference))
    swapped = difference(reference, ours, RULE)
    span = max(500, *ours, *reference) - min(22, *ours, *reference)
    assert abs(swapped.low + found.high) < 0.1 * span


def test_a_side_without_seeds_is_refused():
    with pytest.raises(ValueError, match="either side"):
        difference([], [1.0], RULE)
