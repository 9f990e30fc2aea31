"""What ``--only BENCHMARK[/IMPLEMENTATION[/CASE]]`` takes."""

import pytest

from runner.planning.cells import Selection

NAME = ("dqn", "rust", "CartPole-v1")


@pytest.mark.parametrize(
    "pattern", ["dqn", "d*", "dqn/rust", "dqn/*", "*/rust", "dqn/rust/CartPole-v1", "dqn/*/Cart*", "*/*/*"]
)
def test_each_part_is_a_glob_and_a_part_left_out_is_anything(pattern):
    assert Selection(profile="quick", only=(pattern,)).takes(*NAME)


@pytest.mark.parametrize(
    "pattern",
    [
        "ppo",
        "dq",
        "dqn/pytorch",
        "*/pytorch",
        "dqn/rust/Acrobot-v1",
        "dqn/*/cartpole-v1",
        "dqn/rust/*/*",
        "dqn/",
    ],
)
def test_every_part_that_is_given_has_to_fit(pattern):
    assert not Selection(profile="quick", only=(pattern,)).takes(*NAME)


def test_one_pattern_of_several_is_enough_and_none_is_everything():
    assert Selection(profile="quick", only=("gae", "dqn/*/CartPole-v1")).takes(*NAME)
    assert Selection(profile="quick").takes(*NAME)
