"""Interleaving removes the bias that a sequential order has."""

import pytest

from runner.matrix import load_matrix
from runner.system.checkout import ROOT
from tools.simulate_order import bias, runner_order, sequential_order

SEEDS = range(1, 11)


@pytest.fixture(scope="module")
def order() -> tuple[str, ...]:
    """The runner's own."""
    return runner_order(load_matrix(ROOT / "matrix.yaml"), SEEDS)


def test_the_runners_order_has_one_process_of_each_in_every_seed(order):
    assert order[0] == "numpy", "gates wait for the reference"
    assert all(set(order[place : place + 2]) == {"numpy", "rust"} for place in range(0, len(order), 2))
    assert order != ("numpy", "rust") * len(SEEDS), "within a seed the order is drawn"


def test_a_drift_biases_a_sequential_order_and_not_the_runners(order):
    one_by_one = bias("5 % slower at the end", sequential_order(SEEDS), "sequential", trials=60)
    interleaved = bias("5 % slower at the end", order, "runner", trials=60)
    assert one_by_one.bias > 0.02
    assert one_by_one.held < 0.3
    assert abs(interleaved.bias) < 0.005
    assert interleaved.held > 0.9


def test_without_a_drift_the_order_does_not_matter(order):
    for each in (sequential_order(SEEDS), order):
        assert abs(bias("none", each, "any", trials=60).bias) < 0.005
