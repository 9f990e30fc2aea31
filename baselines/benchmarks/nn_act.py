"""What every implementation of `nn-act` shares: what networks say of one minibatch of observations after another.

`dqn` gives the values of all actions (rows, actions). `ppo` gives the logarithms of their probabilities (rows, actions)
and the critic's values (rows,). `sac` gives an action (1, actions) of one observation and noise. Nothing is drawn and
nothing is learnt, so no implementation computes gradients. Weights, observations and noise are given. Arrays are NumPy's
here: a call takes such observations, and its answers are complete when it returns.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from baselines.benchmarks import covered, training
from baselines.benchmarks.covered import Answered, Asked
from baselines.benchmarks.library import Library
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, calling, serve

Floats = NDArray[np.float32]
Given = Mapping[str, Any]

# What each algorithm's networks say, in the order in which a call returns it.
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "dqn": ("values",),
    "ppo": ("log_probabilities", "values"),
    "sac": ("actions",),
}


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: whose networks, and the rows of a call's observations. The input file has the other sizes."""

    algorithm: str
    rows: int
    hidden: int | None = None
    observation: int | None = None
    action: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("rows")
        if self.algorithm not in ANSWERS:
            raise ValueError(f"'algorithm' must be one of {', '.join(ANSWERS)}")
        if self.algorithm == "sac" and self.rows != 1:
            raise ValueError("'rows' must be 1 for 'sac': its policy acts after one observation")


class Seen(NamedTuple):
    """What a call acts on: observations (rows, n), and noise (rows, actions), which only `sac` uses."""

    observations: Floats
    noise: Floats


# One array of the library for each of the algorithm's answers.
Answer = Sequence[Any]
Call = Callable[[Seen], Answer]


def run(options: argparse.Namespace, ways: Mapping[str, Callable[[Given], Call]], library: Library) -> None:
    """Serve every case: read its inputs, and act as the referee says.

    Args:
        options: of the command line.
        ways: for each algorithm what makes the call that is timed, of the input file's arrays in the library.
        library: whose arrays they take and give.
    """

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Asked, Answered]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        shape = (parameters.calls, parameters.rows)
        rows = _rows(given, "observations", shape, case)
        noise = _rows(given, "noise.next", shape, case) if parameters.algorithm == "sac" else rows
        call = ways[parameters.algorithm](library.laid_out(given))
        answer_all = calling(call)
        # What has to be compiled is compiled now.
        call(Seen(rows[0], noise[0]))

        def asked(numbers: Numbers) -> Asked:
            return Asked(seen(rows, noise, numbers), parameters.covered(numbers))

        def gathered(answers: Sequence[Answer]) -> dict[str, NDArray[Any]]:
            named = zip(ANSWERS[parameters.algorithm], zip(*answers, strict=True), strict=True)
            whole = (len(answers), parameters.rows, -1)
            return {name: library.gathered(each).reshape(whole) for name, each in named}

        def write(_: Asked, answered: Answered, folder: Path) -> None:
            values = gathered(answered.calls)
            training.write(folder / "values.safetensors", values)
            digested = {name: each[answered.covered] for name, each in values.items()}
            training.write(folder / "digested.safetensors", digested)

        return Operation(
            calls=parameters.calls,
            inputs=asked,
            run=lambda asked: Answered(answer_all(asked.calls), asked.covered),
            digested=lambda answered: list(gathered(answered.calls[answered.covered]).values()),
            write=write,
            counts={"observations": parameters.rows},
        )

    serve(options, Parameters, operation)


def seen(rows: Floats, noise: Floats, numbers: Numbers) -> list[Seen]:
    """For each call its rows by a factor of the call's own, from a half to one, exact in f32; and its noise."""
    factors = np.float32(0.5) + (numbers % np.uint64(2**20)).astype(np.float32) * np.float32(2.0**-21)
    return [Seen(*each) for each in zip(rows * factors[:, None, None], noise, strict=True)]


def _rows(given: Mapping[str, Floats], name: str, shape: tuple[int, int], case: protocol.Case) -> Floats:
    """The first rows of the minibatches, (calls, rows, ...)."""
    found = given[name].reshape(-1, given[name].shape[-1])
    calls, rows = shape
    if len(found) < calls * rows:
        protocol.refuse(
            f"case {case.name} has {calls} calls of {rows} rows, and its file has {len(found)} rows; give fewer calls"
        )
    return found[: calls * rows].reshape(calls, rows, -1)
