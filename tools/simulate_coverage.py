"""How often a nominal 95 % interval really holds the truth: a seeded simulation, kept in coverage.json.

    python -m tools.simulate_coverage          # prints what is kept
    python -m tools.simulate_coverage --write  # simulates again (minutes) and keeps it

The interval of ``runner.figures.statistics`` (percentile bootstrap) is weighed against the expanded percentile,
which takes wider percentiles at small n: Phi(-sqrt(n / (n - 1)) * t) with t the Student quantile at n - 1
degrees of freedom (Hesterberg 2015, "What teachers should know about the bootstrap"). Bootstrap-t and BCa
were not candidates: a resample of five processes often has no spread to studentise by, and the jackknife of
a median, which BCa needs, is inconsistent.
"""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from runner.figures.statistics import Floats, figure, resampled_figures
from runner.report.tables.coverage import KEPT, RESAMPLES, TRIALS, Coverage, kept
from runner.system.files import write_atomically

SIZES = (5, 10, 20)
_SEED = 42
# Student's 97.5 % quantiles at n - 1 degrees of freedom.
_STUDENT = {5: 2.7764, 10: 2.2622, 20: 2.0930}
_TRUTH_PROCESSES = 100_000

Draw = Callable[[np.random.Generator, int], Floats]


def symmetric(generator: np.random.Generator, n: int) -> Floats:
    """Processes differ by 3 % and 25 repetitions within each by 2 %, both log-normal."""
    level = np.exp(0.03 * generator.standard_normal((n, 1)))
    return np.asarray(level * np.exp(0.02 * generator.standard_normal((n, 25))))


def skewed(generator: np.random.Generator, n: int) -> Floats:
    """A machine only ever adds time: exponential, 3 % between processes, 2 % between 25 repetitions."""
    level = 1 + 0.03 * generator.exponential(size=(n, 1))
    return np.asarray(level * (1 + 0.02 * generator.exponential(size=(n, 25))))


def disturbed(generator: np.random.Generator, n: int) -> Floats:
    """As ``symmetric``, and one process in ten is 30 % slower."""
    slow = generator.choice([1.3, 1.0], p=[0.1, 0.9], size=(n, 1))
    return np.asarray(symmetric(generator, n) * slow)


def single(generator: np.random.Generator, n: int) -> Floats:
    """One value a process, as a training has: log-normal, 3 %."""
    return np.exp(0.03 * generator.standard_normal((n, 1)))


MODELS: dict[str, Draw] = {
    "symmetric": symmetric,
    "skewed": skewed,
    "disturbed": disturbed,
    "one value a process": single,
}


def simulate(model: str, n: int, *, trials: int = TRIALS, resamples: int = RESAMPLES) -> Coverage:
    """The coverage of figures and of ratios (whose truth is 1: both sides come from the same model).

    Args:
        model: a key of ``MODELS``.
        n: processes a side; one of ``SIZES``.
        trials: how many experiments are simulated.
        resamples: bootstrap resamples in each; the percentiles of 2,000 differ little from those of 10,000.
    """
    draw = MODELS[model]
    generator = np.random.default_rng([_SEED, n])
    truth = figure(draw(np.random.default_rng(_SEED), _TRUTH_PROCESSES).tolist())
    tails = (0.025, statistics.NormalDist().cdf(-math.sqrt(n / (n - 1)) * _STUDENT[n]))
    held = np.zeros((len(tails), 2))
    for _ in range(trials):
        one, other = (_resample(draw(generator, n), generator, resamples) for _ in range(2))
        for index, tail in enumerate(tails):
            held[index] += (_holds(one, truth, tail), _holds(one / other, 1.0, tail))
    (figure_share, ratio_share), (expanded_figure, expanded_ratio) = (held / trials).tolist()
    return Coverage(
        model=model,
        n=n,
        figure=figure_share,
        ratio=ratio_share,
        expanded_figure=expanded_figure,
        expanded_ratio=expanded_ratio,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the kept table, or simulate and keep it."""
    parser = argparse.ArgumentParser(description="Coverage of the 95 % intervals")
    parser.add_argument("--write", action="store_true", help="simulate again and keep the result")
    if parser.parse_args(arguments).write:
        found = [simulate(model, n) for model in MODELS for n in SIZES]
        write_atomically(KEPT, json.dumps([asdict(each) for each in found], indent=1) + "\n")
    for each in kept():
        print(
            f"{each.model:<20} n={each.n:<3} figure {each.figure:.3f}  ratio {each.ratio:.3f}"
            f"  (expanded: {each.expanded_figure:.3f}, {each.expanded_ratio:.3f})"
        )


def _resample(values: Floats, generator: np.random.Generator, resamples: int) -> Floats:
    processes = tuple(tuple(row) for row in np.sort(values, axis=1).tolist())
    return resampled_figures(processes, generator, resamples)


def _holds(resampled: Floats, truth: float, tail: float) -> bool:
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return bool(low <= truth <= high)


if __name__ == "__main__":
    main()
