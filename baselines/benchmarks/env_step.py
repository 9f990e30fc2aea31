"""What every implementation of the benchmark `ffi` shares: its parameters, its files and its course.

Actions are taken in CartPole-v1, one environment alone or several a call. The referee decides for each repetition the
seed of the environments and with which of the given actions it begins. What is timed is the step of one environment,
reset where its episode ends, or the step of a vector of them that resets its environments itself (Gymnasium's next-step
mode: the call after an episode's end is its reset).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.env_step import env_step_actions

NAME = "CartPole-v1"
# Of actions that no file gives, whatever the process's seed, which orders the cases alone.
_ACTIONS_SEED = 42


class Stepped(Protocol):
    """One environment, or a vector of them, by Gymnasium's interface."""

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, everywhere."""

    def step(self, action: Any, /) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take an action, or one in each environment."""


class Parameters(NamedTuple):
    """What is made: one environment, or a vector of so many."""

    environments: int
    vector: bool


# Makes what is stepped.
Make = Callable[[Parameters], Stepped]
# Takes all steps, and returns the last observation.
Loop = Callable[[Any, Sequence[Any]], Any]


@dataclass(frozen=True, kw_only=True)
class Case(protocol.Repetitions):
    """One case: `calls` steps, all of whose actions are in the input file, make up a repetition."""

    environments: int
    vector: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.environments < 1:
            raise ValueError("'environments' must be at least 1")
        if not self.vector and self.environments != 1:
            raise ValueError("without 'vector' there is one environment")


class Start(NamedTuple):
    """Where a repetition begins: the environments' seed, and the actions of all its calls."""

    seed: int
    actions: Sequence[Any]


def run(options: argparse.Namespace, make: Make, single: Loop | None = None) -> None:
    """Serve every case: read its actions, and step as the referee says.

    Args:
        options: of the command line.
        make: makes what is stepped.
        single: the loop over one environment, where what is made has more than Gymnasium's interface around it.
    """

    def operation(
        request: protocol.Request, case: protocol.Case, sizes: Case
    ) -> Operation[Start, NDArray[Any]]:
        actions = _actions(request, case, sizes)
        stepped = make(Parameters(sizes.environments, sizes.vector))
        rollout = vector_rollout if sizes.vector else single or single_rollout

        def begin(numbers: Numbers) -> Start:
            start = start_of(int(numbers[0]), actions)
            stepped.reset(seed=start.seed)
            return start

        def write(start: Start, last: NDArray[Any], folder: Path) -> None:
            np.save(folder / "last_observations.npy", _rows(last, sizes.environments))
            for name, array in recorded(stepped, start, sizes).items():
                np.save(folder / f"{name}.npy", array)

        return Operation(
            calls=sizes.calls,
            inputs=begin,
            # The rollout's loop makes all the calls.
            run=lambda start: rollout(stepped, start.actions),
            digested=lambda last: [_rows(last, sizes.environments)],
            write=write,
            counts={"environment_steps": sizes.calls * sizes.environments},
        )

    serve(options, Case, operation)


def start_of(number: int, actions: Sequence[Any]) -> Start:
    """Where the repetition of a number begins: its low half is the seed, its high half turns the actions round."""
    offset = offset_of(number, len(actions))
    return Start(seed=seed_of(number), actions=[*actions[offset:], *actions[:offset]])


def seed_of(number: int) -> int:
    """The environments' seed."""
    return number % 2**31


def offset_of(number: int, steps: int) -> int:
    """The first of so many rows of actions."""
    return (number >> 32) % steps


def single_rollout(environment: Stepped, actions: Sequence[int]) -> Any:
    """All steps of one environment; returns the last observation. This is what is timed."""
    for action in actions:
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            environment.reset()
    return observation


def vector_rollout(environments: Stepped, actions: Sequence[NDArray[np.int64]]) -> Any:
    """All steps of a vector; returns the last observations. This is what is timed."""
    for action in actions:
        observations, _, _, _, _ = environments.step(action)
    return observations


def recorded(stepped: Stepped, start: Start, sizes: Case) -> dict[str, NDArray[np.float64]]:
    """The same steps once more, outside the clock, with all that they give.

    Returns:
        `observations` (calls, environments, 4), `rewards`, `terminated` and `truncated` (calls, environments).
    """
    shape = (sizes.calls, sizes.environments)
    arrays = {name: np.empty(shape) for name in ("rewards", "terminated", "truncated")}
    observations = np.empty((*shape, 4))
    stepped.reset(seed=start.seed)
    for index, action in enumerate(start.actions):
        observation, reward, terminated, truncated, _ = stepped.step(action)
        observations[index] = _rows(observation, sizes.environments)
        for name, value in (("rewards", reward), ("terminated", terminated), ("truncated", truncated)):
            arrays[name][index] = value
        if not sizes.vector and (terminated or truncated):
            stepped.reset()
    return {"observations": observations, **arrays}


def _actions(request: protocol.Request, case: protocol.Case, sizes: Case) -> list[Any]:
    """As Gymnasium takes them: whole numbers for one environment, arrays of them for a vector."""
    shape = (sizes.calls, sizes.environments)
    if request.input_directory is None:
        values = env_step_actions(calls=sizes.calls, environments=sizes.environments, seed=_ACTIONS_SEED)
    else:
        values = protocol.input_file(request, case, "actions.npy", np.load)
        if values.shape != shape:
            protocol.refuse(
                f"actions.npy of case {case.name} holds {values.shape}, not {shape}; make the inputs again"
            )
    whole = values.astype(np.int64)
    return list(whole) if sizes.vector else whole[:, 0].tolist()


def _rows(observations: Any, environments: int) -> NDArray[np.float64]:
    # Every f32 is a f64: nothing of the comparison is lost.
    return np.asarray(observations, dtype=np.float64).reshape(environments, 4)
