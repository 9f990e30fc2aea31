import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.benchmarks import grpo as grpo_course
from baselines.references import grpo, token_kl
from baselines.tuned import grpo as tuned_grpo
from baselines.tuned import token_kl as tuned_token_kl

sizes = st.tuples(st.integers(1, 6), st.integers(1, 40))


@given(sizes, st.integers(0, 2**32))
def test_both_variants_of_grpo_are_the_formula(shape: tuple[int, int], seed: int) -> None:
    rewards = np.random.default_rng(seed).standard_normal(shape)
    for variant in (grpo, tuned_grpo):
        given_rewards = rewards.copy()
        found = variant.advantages(given_rewards)
        assert np.array_equal(given_rewards, rewards), "a call changed its rewards"
        for group, advantages in zip(rewards.tolist(), found.tolist(), strict=True):
            mean = math.fsum(group) / len(group)
            deviation = math.sqrt(math.fsum((reward - mean) ** 2 for reward in group) / len(group))
            wanted = [(reward - mean) / (deviation + grpo_course.EPSILON) for reward in group]
            assert advantages == pytest.approx(wanted, rel=1e-7, abs=1e-7)


@given(sizes, st.integers(0, 2**32))
def test_both_variants_of_token_kl_are_the_formulas(shape: tuple[int, int], seed: int) -> None:
    policy, reference = -2 * np.random.default_rng(seed).random((2, *shape))
    exact = [
        math.fsum(math.exp(p) * (p - q) for p, q in zip(*rows, strict=True))
        for rows in zip(policy.tolist(), reference.tolist(), strict=True)
    ]
    k3 = [
        math.fsum(math.exp(q - p) - 1 - (q - p) for p, q in zip(*rows, strict=True))
        for rows in zip(policy.tolist(), reference.tolist(), strict=True)
    ]
    halves = policy.astype(np.float32), reference.astype(np.float32)
    for variant in (token_kl, tuned_token_kl):
        assert variant.exact(policy, reference).tolist() == pytest.approx(exact, rel=1e-10, abs=1e-10)
    for estimate in (token_kl.k3, tuned_token_kl.k3, tuned_token_kl.k3_by_expm1):
        single = estimate(*halves)
        assert single.dtype == np.float32
        assert single.tolist() == pytest.approx(k3, rel=1e-5, abs=1e-5)
    assert tuned_token_kl.exact_of_one(policy[0], reference[0]) == pytest.approx(
        exact[0], rel=1e-10, abs=1e-10
    )
    for estimate in (tuned_token_kl.k3, tuned_token_kl.k3_by_expm1):
        one = estimate(*(each[0] for each in halves))
        assert one.dtype == np.float32
        assert one == pytest.approx(k3[0], rel=1e-5, abs=1e-5)
