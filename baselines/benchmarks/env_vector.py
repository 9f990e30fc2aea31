"""What every implementation of the benchmark `env-vector` shares: its parameters, its files and its course.

A vector of CartPole-v1 takes batch steps. Where an episode ends, the same step begins the next one and also hands out the
last observation (Gymnasium's same-step mode). The referee decides for each repetition the seed of the environments and
with which row of the given actions it begins. Environment i has the seed plus i. What is timed is the loop of steps.

What is compared comes of the same steps once more, outside the clock; the last observations are those that were timed.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks.env_step import start_of
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve

NAME = "CartPole-v1"
# Values in an observation.
WIDTH = 4

Actions = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: `calls` steps of a vector of `environments`. All actions are in the input file."""

    environments: int
    vector: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("environments")
        if not self.vector:
            raise ValueError("'vector' must be true: a single environment is another benchmark")


class Step(NamedTuple):
    """What a step of n environments gave, in NumPy's arrays."""

    observations: NDArray[Any]
    """(n, 4); where an episode ended, the first of the next one."""
    rewards: NDArray[Any]
    terminated: NDArray[Any]
    truncated: NDArray[Any]
    """(n,) each."""
    final_observations: NDArray[Any]
    """(n, 4); the last ones of episodes that ended, 0 elsewhere."""


class Vector(Protocol):
    """Several environments that take their steps together."""

    @property
    def step(self) -> Callable[[Any], Any]:
        """Takes a step everywhere, with what `laid_out` gives. This is what is timed."""

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode everywhere, from this seed on; returns the observations, (n, 4). Not timed."""

    def laid_out(self, actions: Actions) -> Any:
        """The actions of a step, (n,), as `step` takes them. Not timed."""

    def read(self, stepped: Any) -> Step:
        """What a step returned. Not timed."""


# Makes a vector of so many environments.
Make = Callable[[int], Vector]


class Start(NamedTuple):
    """Where a repetition begins: the environments' seed, and the actions of all its steps."""

    seed: int
    actions: Sequence[Any]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: make its vector, and step as the referee says."""

    def operation(request: protocol.Request, case: protocol.Case, sizes: Parameters) -> Operation[Start, Any]:
        vector = make(sizes.environments)
        actions = [
            vector.laid_out(row) for row in read_actions(request, case, sizes.calls, sizes.environments)
        ]

        def begin(numbers: Numbers) -> Start:
            start = Start(*start_of(int(numbers[0]), actions))
            vector.reset(start.seed)
            return start

        def write(start: Start, last: Any, folder: Path) -> None:
            np.save(folder / "last_observations.npy", last_observations(vector, last))
            for name, array in recorded(vector, start)._asdict().items():
                np.save(folder / f"{name}.npy", array)

        return Operation(
            calls=sizes.calls,
            inputs=begin,
            # The loop makes all the calls.
            run=lambda start: take_steps(vector.step, start.actions),
            digested=lambda last: [last_observations(vector, last)],
            write=write,
            counts={"environment_steps": sizes.calls * sizes.environments},
        )

    serve(options, Parameters, operation)


def take_steps(step: Callable[[Any], Any], actions: Sequence[Any]) -> Any:
    """All steps; returns what the last one gave. This is what is timed."""
    for action in actions:
        stepped = step(action)
    return stepped


def recorded(vector: Vector, start: Start) -> Step:
    """The same steps once more, outside the clock, with all that they give; the step is the first axis."""
    vector.reset(start.seed)
    steps = [
        [np.array(field, np.float64) for field in vector.read(vector.step(action))]
        for action in start.actions
    ]
    return Step(*(np.stack(field) for field in zip(*steps, strict=True)))


def last_observations(vector: Vector, stepped: Any) -> NDArray[np.float64]:
    """Of a step, (n, 4); every f32 is a f64, so nothing of the comparison is lost."""
    return np.array(vector.read(stepped).observations, np.float64)


def read_actions(request: protocol.Request, case: protocol.Case, steps: int, environments: int) -> Actions:
    """The actions of the input file, (steps, environments)."""
    values = protocol.input_file(request, case, "actions.npy", np.load)
    if values.shape != (steps, environments):
        protocol.refuse(
            f"actions.npy of case {case.name} holds {values.shape}, not {(steps, environments)}; make the inputs again"
        )
    return np.asarray(values.astype(np.int64))


def final_rows(ended: NDArray[np.bool_], rows: Any) -> NDArray[np.float64]:
    """The last observations of the episodes that ended, (n, 4), from what has a row for each environment."""
    final = np.zeros((len(ended), WIDTH))
    for index in np.flatnonzero(ended):
        final[index] = rows[index]
    return final
