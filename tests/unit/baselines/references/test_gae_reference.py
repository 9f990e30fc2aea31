import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.inputs.gae import GaeArrays, gae_arrays
from baselines.references import gae


def oracle(rewards: list[float], values: list[float], dones: list[float]) -> list[float]:
    """Equation 16 as a sum: each step's later errors, discounted, up to the end of its episode."""
    advantages = []
    for start in range(len(rewards)):
        total, weight = 0.0, 1.0
        for t in range(start, len(rewards)):
            following = values[t + 1] if t + 1 < len(values) else 0.0
            total += weight * (rewards[t] + 0.99 * following * (1 - dones[t]) - values[t])
            weight *= 0.99 * 0.95
            if dones[t]:
                break
        advantages.append(total)
    return advantages


def computed(
    rewards: list[float], values: list[float], dones: list[float]
) -> tuple[list[float], list[float]]:
    arrays = GaeArrays(*(np.array(each, dtype=np.float64) for each in (rewards, values, dones)))
    advantages, returns = gae.prepare(arrays)(0.99)
    return advantages.tolist(), returns.tolist()


def test_three_steps_by_hand() -> None:
    advantages, returns = computed([1.0, 2.0, 3.0], [0.5, 0.25, 0.125], [0.0, 1.0, 0.0])
    last = 3.0 - 0.125
    middle = 2.0 - 0.25
    first = 1.0 + 0.99 * 0.25 - 0.5 + 0.99 * 0.95 * middle
    assert advantages == pytest.approx([first, middle, last], rel=1e-15)
    assert returns == pytest.approx([first + 0.5, middle + 0.25, last + 0.125], rel=1e-15)


steps = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0])),
    min_size=1,
    max_size=40,
)


@given(steps)
def test_the_loop_is_the_sum_of_the_paper(trajectory: list[tuple[float, float, float]]) -> None:
    rewards, values, dones = (list(each) for each in zip(*trajectory, strict=True))
    advantages, returns = computed(rewards, values, dones)
    assert advantages == pytest.approx(oracle(rewards, values, dones), rel=1e-9, abs=1e-9)
    assert returns == pytest.approx(
        [a + v for a, v in zip(advantages, values, strict=True)], rel=1e-12, abs=1e-12
    )


@given(steps, st.floats(-1e3, 1e3))
def test_nothing_after_the_end_of_an_episode_reaches_back(
    trajectory: list[tuple[float, float, float]], other: float
) -> None:
    rewards, values, dones = (list(each) for each in zip(*trajectory, strict=True))
    dones[-1] = 1.0
    alone, _ = computed(rewards, values, dones)
    continued, _ = computed([*rewards, other], [*values, other], [*dones, 0.0])
    assert continued[:-1] == alone


def test_several_trajectories_are_each_what_they_are_alone() -> None:
    arrays = gae_arrays(batch=8, length=128, seed=3)
    advantages, returns = gae.prepare(arrays)(0.99)
    for row in range(8):
        alone = gae.prepare(GaeArrays(*(each[row].copy() for each in arrays)))(0.99)
        assert np.array_equal(advantages[row], alone[0])
        assert np.array_equal(returns[row], alone[1])
    assert advantages.flags.c_contiguous
