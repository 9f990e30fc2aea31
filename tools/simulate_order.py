"""What a drift of the machine does to a ratio, by the order of the launches; and what stopping by precision does.

    python -m tools.simulate_order          # a table of each, in about a minute

Two implementations take the same time, so that the true ratio is 1. The machine becomes slower, or faster, in the
course of a run. In a sequential order the second implementation gets the slower machine. The other order is the
runner's own, from ``runner.planning.launches``.

The second table asks how often the interval of a figure holds the truth where ``--target-precision`` decided the number
of processes. The rule is that of ``runner.figures.repeats``: as many as the width asks for, at most doubled in one step.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from runner.figures.precision import enough
from runner.figures.statistics import Floats, figure, figure_interval, ratio_interval
from runner.matrix import Matrix, load_matrix
from runner.planning.cells import Selection, select
from runner.planning.launches import launches_of
from runner.planning.planned import Decision, KeyedCell, PlannedCell
from runner.records.execution import Execution, ExecutionKind
from runner.system.checkout import ROOT
from tools.simulate_coverage import MODELS

_SEED = 42
_RESAMPLES = 400
_PAIR = ("numpy", "rust")
_MOST = 160
# Seconds over the place in the run, from 0 to 1.
DRIFTS: dict[str, Callable[[Floats], Floats]] = {
    "none": np.ones_like,
    "5 % slower at the end": lambda place: 1 + 0.05 * place,
    "10 % slower after half": lambda place: np.where(place < 1 / 2, 1.0, 1.1),
    "warm for a third": lambda place: 1 + 0.08 * np.exp(-9 * place),
}


@dataclass(frozen=True, kw_only=True)
class Bias:
    """What one order makes of one drift: the mean of ratio - 1, and how often the interval holds 1."""

    drift: str
    order: str
    n: int
    bias: float
    held: float


def runner_order(matrix: Matrix, seeds: Sequence[int]) -> tuple[str, ...]:
    """The implementations of a room in the order in which the runner launches them, seed after seed."""
    executions = {name: Execution(kind=ExecutionKind.NATIVE, emulator=None) for name in matrix.platforms}
    wanted = Selection(
        profile="full",
        architectures=("amd64",),
        only=tuple(f"gae/{name}/T=512" for name in _PAIR),
        seeds=tuple(seeds),
    )
    cells = [
        KeyedCell(cell=cell, key=str(cell), key_version=1) for cell in select(matrix, wanted, executions)
    ]
    reference = next(each for each in cells if each.cell.implementation.reference)
    planned = [
        PlannedCell(
            cell=each.cell,
            key=each.key,
            key_version=1,
            reference=reference,
            decision=Decision.RUN,
            why="simulated",
        )
        for each in cells
    ]
    return tuple(each.first.implementation.name for each in launches_of(planned, executions, lambda _: 1.0))


def sequential_order(seeds: Sequence[int]) -> tuple[str, ...]:
    """All processes of the one, then all of the other."""
    return tuple(name for name in _PAIR for _ in seeds)


def bias(drift: str, order: Sequence[str], name: str, *, trials: int = 400) -> Bias:
    """The bias of the ratio of two equal implementations, launched in this order while the machine drifts."""
    generator = np.random.default_rng(_SEED)
    slower = DRIFTS[drift](np.linspace(0, 1, len(order)))
    ratios, held = [], 0
    for _ in range(trials):
        seconds = slower * np.exp(0.01 * generator.standard_normal(len(order)))
        first, second = (
            [[value] for each, value in zip(order, seconds.tolist(), strict=True) if each == side]
            for side in _PAIR
        )
        found = ratio_interval(second, first, resamples=_RESAMPLES)
        ratios.append(found.value)
        held += found.low is not None and found.high is not None and found.low <= 1 <= found.high
    return Bias(
        drift=drift, order=name, n=len(order) // 2, bias=float(np.mean(ratios)) - 1, held=held / trials
    )


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """How often an interval held the truth, with a number of processes fixed before or chosen by the rule."""

    model: str
    target: float
    fixed: float
    by_rule: float
    processes: float


def stopped(model: str, target: float, *, trials: int = 400) -> Stopped:
    """Coverage under the rule, beside that of the mean number of processes that the rule took."""
    generator = np.random.default_rng(_SEED)
    draw = MODELS[model]
    truth = figure(draw(np.random.default_rng(_SEED), 20_000).tolist())
    held, counts = 0, []
    for _ in range(trials):
        values = draw(generator, 5).tolist()
        found = figure_interval(values, resamples=_RESAMPLES)
        while (
            missing := min((enough(found, target) or 0) - len(values), len(values), _MOST - len(values))
        ) > 0:
            values += draw(generator, missing).tolist()
            found = figure_interval(values, resamples=_RESAMPLES)
        counts.append(len(values))
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
    mean = math.ceil(float(np.mean(counts)))
    return Stopped(
        model=model,
        target=target,
        fixed=_fixed(draw, mean, truth, trials=trials),
        by_rule=held / trials,
        processes=float(np.mean(counts)),
    )


def _fixed(draw: Callable[[np.random.Generator, int], Floats], n: int, truth: float, *, trials: int) -> float:
    generator = np.random.default_rng(_SEED + 1)
    held = 0
    for _ in range(trials):
        found = figure_interval(draw(generator, n).tolist(), resamples=_RESAMPLES)
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
    return held / trials


def main() -> None:
    """Print both tables."""
    matrix = load_matrix(ROOT / "matrix.yaml")
    for n in (5, 10):
        seeds = range(1, n + 1)
        for drift in DRIFTS:
            for name, order in (
                ("sequential", sequential_order(seeds)),
                ("runner", runner_order(matrix, seeds)),
            ):
                found = bias(drift, order, name)
                print(
                    f"{found.drift:<24} {found.order:<11} n={n:<3} bias {found.bias:+.3f}  holds 1: {found.held:.2f}"
                )
    for model in MODELS:
        for target in (0.03, 0.02, 0.01):
            rule = stopped(model, target)
            print(
                f"{rule.model:<20} to {target:.0%}: {rule.processes:5.1f} processes, "
                f"by the rule {rule.by_rule:.3f}, fixed before {rule.fixed:.3f}"
            )


if __name__ == "__main__":
    main()
