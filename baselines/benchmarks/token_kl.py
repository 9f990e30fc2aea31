"""What every implementation of the benchmark `token-kl` shares: its parameters, its files and its course.

How far a policy's tokens are from a reference's, from the log-probabilities p and q of both, for each sequence:

    exact, f64:  sum over t of exp(p[t]) * (p[t] - q[t])
    k3, f32:     sum over t of exp(q[t] - p[t]) - 1 - (q[t] - p[t])

The second is Schulman's estimator ("Approximating KL Divergence", 2020), with the sign that TRL gives it. Each call reads
parts of two longer tapes, whose beginnings the referee draws. Digest and files cover one call of several, and the referee
decides which.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import covered
from baselines.benchmarks.covered import Answered, Asked
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, save, serve
from baselines.contract.tapes import pieces, places
from baselines.inputs.post_training import STRIDE

Floats = NDArray[Any]
# From the arguments of a call to one value for each sequence.
Call = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: `batch` sequences of `length` tokens, by the estimator k3 or exactly."""

    batch: int
    length: int
    k3: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("batch", "length")


@dataclass(frozen=True, kw_only=True)
class Course:
    """How an implementation computes.

    Attributes:
        prepare: the call that is timed, for a case.
        laid_out: log-probabilities (batch, length) as the implementation takes them; not timed.
        gathered: the values of several calls as one NumPy array, in any shape; not timed.
        arguments: those of a call, for a case, from the policy's and the reference's log-probabilities; not timed. None
            for these two.
    """

    prepare: Callable[[Parameters], Call]
    laid_out: Callable[[Floats], Any] = lambda array: array
    gathered: Callable[[list[Any]], Floats] = np.asarray
    arguments: Callable[[Parameters, Any, Any], tuple[Any, ...]] | None = None


def either(*, exact: Call, k3: Call) -> Callable[[Parameters], Call]:
    """Prepares the call of a case's own kind."""
    return lambda parameters: k3 if parameters.k3 else exact


def one_axis_of_one(array: Floats) -> Floats:
    """Log-probabilities (batch, length), and of one sequence (length,)."""
    return array[0] if len(array) == 1 else array


def run(options: argparse.Namespace, course: Course) -> None:
    """Serve every case: read the tapes, and compute as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Asked, Answered]:
        shape, count = (parameters.batch, parameters.length), parameters.batch * parameters.length
        kind = np.dtype(np.float32 if parameters.k3 else np.float64)
        policies, references = (
            [
                course.laid_out(piece.reshape(shape))
                for piece in pieces(
                    protocol.input_file(request, case, f"{name}.npy", np.load).astype(kind),
                    count,
                    stride=STRIDE,
                )
            ]
            for name in ("policy", "reference")
        )
        call = course.prepare(parameters)

        def inputs(numbers: Numbers) -> Asked:
            chosen = zip(places(numbers, 0), places(numbers, 1), strict=True)
            # Of short calls a function for each would take as long as the call.
            pairs = [(policies[first], references[second]) for first, second in chosen]
            if course.arguments is not None:
                pairs = [course.arguments(parameters, *pair) for pair in pairs]
            return Asked(pairs, parameters.covered(numbers))

        def together(answered: Answered) -> Floats:
            """The values of the calls that are covered, (calls, batch)."""
            outputs = course.gathered(answered.calls[answered.covered])
            return outputs.astype(kind, copy=False).reshape(-1, parameters.batch)

        return Operation(
            calls=parameters.calls,
            inputs=inputs,
            run=lambda asked: Answered([call(*arguments) for arguments in asked.calls], asked.covered),
            digested=lambda answered: [together(answered)],
            write=lambda _, answered, folder: save(folder, "kl.npy", list(together(answered))),
            counts={"tokens": count},
        )

    serve(options, Parameters, operation)
