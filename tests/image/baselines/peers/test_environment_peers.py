"""The peers' environments against Gymnasium's. Needs their packages: runs inside the image `peers`."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from baselines.benchmarks import env_step, env_vector, rollout
from baselines.peers import (
    env_single_rlox,
    env_vector_envpool,
    env_vector_rlox,
    env_vector_sb3,
    env_vector_torchrl,
    rollout_envpool,
    rollout_rlox,
    rollout_sb3,
    rollout_torchrl,
)
from baselines.references import env_vector as reference
from baselines.references import rollout as rollout_reference

ZEROS = np.zeros((60, 3), np.int64)
SAME_WORK = {
    "sb3": lambda count: env_vector_sb3.Vector(env_vector_sb3.dummy(count)),
    "sb3-subproc": lambda count: env_vector_sb3.Vector(env_vector_sb3.subproc(count)),
    "torchrl": env_vector_torchrl.Vector,
}
OWN_RESETS = {"rlox": env_vector_rlox.Vector, "envpool": env_vector_envpool.make}


def recorded(vector: env_vector.Vector, seed: int) -> env_vector.Step:
    return env_vector.recorded(vector, env_vector.Start(seed, [vector.laid_out(row) for row in ZEROS]))


def collected(vector: rollout.Vector, seed: int) -> list[rollout.Rollout]:
    vector.reset(seed)
    actions = vector.laid_out(ZEROS)
    made = [vector.collect(actions) for _ in range(2)]
    return [vector.gathered(each) for each in made]


@pytest.mark.parametrize("name", SAME_WORK)
def test_every_step_is_gymnasiums(name: str) -> None:
    theirs, mine = recorded(SAME_WORK[name](3), 7), recorded(reference.make(3), 7)
    assert mine.terminated.any()
    for field, found, wanted in zip(mine._fields, theirs, mine, strict=True):
        assert found.tobytes() == wanted.tobytes(), field


@pytest.mark.parametrize("name", OWN_RESETS)
def test_a_seed_repeats_its_episodes_and_each_step_is_cart_poles(name: str) -> None:
    vector = OWN_RESETS[name](3)
    found = recorded(vector, 7)
    assert not np.array_equal(found.observations, recorded(vector, 8).observations)
    assert all(map(np.array_equal, found, recorded(vector, 7)))
    judged = 0
    for step in range(1, len(ZEROS)):
        for each in range(3):
            before = found.observations[step - 1, each]
            final = found.final_observations[step, each]
            # In the next-step mode what is seen is the last observation, and the step after an end is a reset.
            after = final if final.any() else found.observations[step, each]
            if found.rewards[step, each]:
                assert after == pytest.approx(after_left(before), rel=2e-6, abs=2e-6)
                judged += 1
    assert judged > 100
    assert found.terminated.sum() > 6


def after_left(observation: Any) -> Any:
    environment: Any = gymnasium.make("CartPole-v1", disable_env_checker=True)
    environment.reset(seed=1)
    environment.unwrapped.state = np.array(observation)
    return environment.step(0)[0]


@pytest.mark.parametrize("make", [rollout_sb3.Vector, rollout_torchrl.Vector])
def test_its_rollouts_are_the_references(make: Any) -> None:
    theirs, mine = collected(make(3, 60), 7), collected(rollout_reference.make(3, 60), 7)
    for found, wanted in zip(theirs, mine, strict=True):
        for field in ("observations", "rewards", "dones"):
            assert np.array_equal(getattr(found, field), getattr(wanted, field)), field
        for field in ("advantages", "returns"):
            np.testing.assert_allclose(getattr(found, field), getattr(wanted, field), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [rollout_rlox.make, rollout_envpool.make])
def test_its_advantages_are_those_of_its_own_episodes(make: Any) -> None:
    for found in collected(make(3, 60), 7):
        values = np.zeros_like(found.rewards)
        wanted = rollout_reference.estimate(found.rewards, values, found.dones)
        np.testing.assert_allclose((found.advantages, found.returns), wanted, rtol=1e-10)
        assert found.dones.any()


def test_the_single_environment_of_rlox_is_reset_where_its_episode_ends() -> None:
    single = env_single_rlox.make(env_step.Parameters(1, vector=False))
    single.reset(seed=7)
    last = env_single_rlox.all_steps(single, [1] * 200)
    sizes = env_step.Case(environments=1, vector=False, calls=200, warmup=0, repetitions=1)
    found = env_step.recorded(single, env_step.Start(7, [1] * 200), sizes)
    assert found["terminated"].sum() > 10
    assert np.array_equal(found["observations"][-1, 0], last)
