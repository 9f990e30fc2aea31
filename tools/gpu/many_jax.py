"""One training by a peer's program in JAX, or many as one program through `jax.vmap`, a seed each.

    python3 -m tools.gpu.many_jax dqn 1024 --case dqn --parameters JSON --seed 1 --output DIR

One training is the peer's own program. Either is run once before the clock, which the peer itself does not do.

The number of the next step is the same in all trainings, so it is left out of the vectorising. Decisions by it stay
branches. Decisions by a draw become selections: each training then computes both sides.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import argparse
import dataclasses
import importlib
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

FIRST_LINE = time.perf_counter()

import jax
import numpy as np

from baselines.benchmarks import training
from baselines.peers import programs_jax
from baselines.peers.environments_jax import Generator, seeded

# Fields that every training has alike.
_SHARED = ("step", "environment_steps")
# Of how many trainings the episodes are fetched.
_LOOKED_AT = 8

Train = Callable[[Any, int], training.Trained]


def rehearsed(train: Train) -> Train:
    """A training after a whole run of it: XLA records CUDA graphs and loads kernels at a program's first run."""

    def twice(parameters: Any, seed: int) -> training.Trained:
        first = train(parameters, seed).ended
        trained = train(parameters, seed)
        # So long ago the first run had the result.
        return dataclasses.replace(trained, further_metrics={"repeated_seconds": trained.ended - first})

    return twice


class Many:
    """So many trainings at once of a peer's module."""

    def __init__(self, module: Any, count: int) -> None:
        self.module, self.count = module, count

    @cache  # noqa: B019 - one lives as long as its process
    def compiled(self, parameters: Any) -> programs_jax.Programs:
        """The programs of a case."""
        course = self.module.Course(parameters)
        state = self.module.State
        axes = (0, state(*(None if name in _SHARED else 0 for name in state._fields)))
        begin = jax.vmap(course.begin, in_axes=(0, 0, None), out_axes=axes)
        train = jax.vmap(course.train, in_axes=(axes, None), out_axes=(axes, 0))
        return programs_jax.compiled(begin, train, *self.drawn(parameters, 0), course.numbers())

    def drawn(self, parameters: Any, seed: int) -> tuple[Any, Generator]:
        """The seeds of the trainings, and the generators of their environments."""
        seeds = range(seed, seed + self.count)
        several = getattr(self.module, "generators_of", None)
        each = [several(one, parameters.environments) if several else seeded(one) for one in seeds]
        return np.array(seeds, np.uint32), Generator(*(np.stack(words) for words in zip(*each, strict=True)))

    def train(self, parameters: Any, seed: int) -> training.Trained:
        """Train all; counts are those of one training."""
        programs = self.compiled(parameters)
        begun = jax.block_until_ready(programs.begin(*self.drawn(parameters, seed), programs.numbers))
        started = time.perf_counter()
        done = jax.block_until_ready(programs.train(begun, programs.numbers))
        ended = time.perf_counter()
        (learner, state), (played, _) = done
        adam = learner.critics_adam if hasattr(learner, "critics_adam") else learner.adam
        [gradient_steps] = np.unique(np.asarray(adam.steps))
        steps = next(getattr(state, name) for name in _SHARED if hasattr(state, name))
        return training.Trained(
            started=started,
            ended=ended,
            environment_steps=int(steps),
            gradient_steps=int(gradient_steps),
            episodes=_episodes(played),
            weights={},
            trace={},
            logs=[],
        )


def _episodes(played: Any) -> list[training.Episode]:
    """Those of the first trainings, by the step at which they ended."""
    parts = [played] if isinstance(played, programs_jax.Played) else played
    ends, totals = (
        np.concatenate([_by_step(getattr(part, name)) for part in parts]) for name in ("ended", "totals")
    )
    return programs_jax.episodes(ends, totals)


def _by_step(array: Any) -> Any:
    """(trainings, ...) of PPO, whose environments come last, or of the others: (steps, environments of all)."""
    few = np.asarray(array[:_LOOKED_AT])
    # PPO has (trainings, iterations, steps, environments), the others (trainings, steps) or (trainings, updates, steps).
    rows = few.reshape(len(few), -1, few.shape[3] if few.ndim == 4 else 1)  # noqa: PLR2004
    return rows.transpose(1, 0, 2).reshape(rows.shape[1], -1)


def main() -> None:
    """Serve the case that the contract's words name."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("training", choices=("dqn", "ppo", "sac"))
    parser.add_argument("count", type=int)
    options, sys.argv[1:] = parser.parse_known_args()
    module: Any = importlib.import_module(f"baselines.peers.{options.training}_jax")
    trains: Any = module if options.count == 1 else Many(module, options.count)
    way = programs_jax.Way(compiled=trains.compiled, train=rehearsed(trains.train), parity=module.parity)
    programs_jax.main(options.training, __doc__, module.work, way, FIRST_LINE)


if __name__ == "__main__":
    main()
