"""A few seconds of ``python -m tests.fuzz``; CONTRIBUTING says when to run it for long."""

import random

import pytest

from tests.fuzz.engine import Outcome, execute, fuzz
from tests.fuzz.targets import TARGETS, Broken, Target


def test_a_few_seconds_of_mutated_input_end_in_values_and_errors_of_ours_alone() -> None:
    outcome = fuzz(5, seed=20261121, unchanged=1)
    assert set(outcome.executions) == {target.name for target in TARGETS}
    assert not outcome.findings, "\n".join(f"{each.data!r}\n{each.what}" for each in outcome.findings[:3])


def _raise(data: bytes) -> None:
    raise KeyError(data)


def _loop(data: bytes) -> None:
    del data
    while True:
        pass


def _hoard(data: bytes) -> None:
    assert len(data * (700 * 2**20)) > 0


def _break(data: bytes) -> None:
    raise Broken(f"{data!r} got through")


@pytest.mark.parametrize(
    ("run", "seconds", "where"),
    # A busy machine may take seconds to hand out what the hoard asks for.
    [(_raise, 60, "KeyError"), (_loop, 0.2, "TookTooLong"), (_hoard, 60, "memory"), (_break, 60, "Broken")],
)
def test_the_fuzzer_finds_an_exception_an_endless_loop_a_hoard_and_a_broken_promise(
    run, seconds, where
) -> None:
    target = Target("planted", lambda: (b"x",), run, seconds=seconds)
    finding = execute(target, b"x", Outcome())
    assert finding is not None
    assert finding.where.startswith(where)


def test_the_same_seed_draws_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        draw = random.Random(seed)  # noqa: S311
        return [target.draw(draw) for target in TARGETS for _ in range(3)]

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)
