"""What every implementation of the benchmark `rollout` shares: its parameters, its files and its course.

A rollout is what PPO learns from: `steps` batch steps of a vector of CartPole-v1, of which all is stored, and the
advantages and returns of generalised advantage estimation. The policy is a constant: each step takes the actions of the
input file, and values each state at 0. Where an episode ends, the same step begins the next one (Gymnasium's same-step
mode). The referee decides for each repetition the seed of the environments and with which row of the actions it begins.
The rollouts of a repetition go on from one another.

Environments are made before anything is timed. What is timed are the steps, what stores them, and the advantages. What
is compared are the rollouts that were timed.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks.env_step import offset_of, seed_of
from baselines.benchmarks.env_vector import NAME, WIDTH, Actions, read_actions
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve

__all__ = ["GAMMA", "LAMBDA", "NAME", "VALUE", "WIDTH", "Make", "Parameters", "Rollout", "Vector", "run"]

GAMMA = 0.99
LAMBDA = 0.95
# Of every state, the one after the last step included.
VALUE = 0.0


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: `calls` rollouts, each of `steps` steps of a vector of `environments`."""

    environments: int
    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("environments", "steps")


class Rollout(NamedTuple):
    """A rollout in NumPy's arrays: observations (steps, n, 4) f32, all else (steps, n)."""

    observations: NDArray[Any]
    """Before each step."""
    rewards: NDArray[Any]
    dones: NDArray[Any]
    """Whether the step ended an episode."""
    advantages: NDArray[Any]
    returns: NDArray[Any]


class Vector(Protocol):
    """A vector of environments that makes rollouts."""

    def collect(self, actions: Any) -> Any:
        """Make one rollout, of actions that `laid_out` gave. This is what is timed.

        It keeps its values until the next reset.
        """

    def reset(self, seed: int) -> None:
        """Begin an episode everywhere, from this seed on. Not timed."""

    def laid_out(self, actions: Actions) -> Any:
        """Actions, (steps, n), as `collect` takes them: an array or a tensor with the time first. Not timed."""

    def gathered(self, collected: Any) -> Rollout:
        """What `collect` returned. Not timed."""


# Makes a vector of so many environments, for rollouts of so many steps.
Make = Callable[[int, int], Vector]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: make its vector, and collect as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, sizes: Parameters
    ) -> Operation[Any, list[Any]]:
        vector = make(sizes.environments, sizes.steps)
        actions = read_actions(request, case, sizes.steps, sizes.environments)
        # Twice as long as a rollout: where one begins, the actions of its steps follow.
        tape = vector.laid_out(np.concatenate([actions, actions]))

        def begin(numbers: Numbers) -> Any:
            number = int(numbers[0])
            first = offset_of(number, sizes.steps)
            vector.reset(seed_of(number))
            return tape[first : first + sizes.steps]

        def collect(actions: Any) -> list[Any]:
            return [vector.collect(actions) for _ in range(sizes.calls)]

        def digested(collected: list[Any]) -> Sequence[NDArray[Any]]:
            rollouts = [vector.gathered(each) for each in collected]
            return [field for each in rollouts for field in (each.observations, each.advantages)]

        def write(_: Any, collected: list[Any], folder: Path) -> None:
            rollouts = [vector.gathered(each) for each in collected]
            for name, field in zip(Rollout._fields, zip(*rollouts, strict=True), strict=True):
                np.save(folder / f"{name}.npy", stacked(name, field, sizes))

        return Operation(
            calls=sizes.calls,
            inputs=begin,
            run=collect,
            digested=digested,
            write=write,
            counts={"environment_steps": sizes.steps * sizes.environments},
        )

    serve(options, Parameters, operation)


def stacked(name: str, fields: Sequence[NDArray[Any]], sizes: Parameters) -> NDArray[Any]:
    """A field of all rollouts, the rollout as the first axis; another shape is a defect."""
    found = np.stack(fields)
    shape = (len(fields), sizes.steps, sizes.environments)
    wanted = (*shape, WIDTH) if name == "observations" else shape
    if found.shape != wanted:
        raise TypeError(f"{name} are {found.shape} and must be {wanted}")
    return found
