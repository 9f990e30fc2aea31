"""What every implementation of the benchmark `grpo` shares: its parameters, its files and its course.

Advantages relative to a group of answers to one prompt (GRPO: Shao et al., 2024, section 4.1.2), f64:

    advantages[g, i] = (rewards[g, i] - mean(rewards[g])) / (std(rewards[g]) + 1e-8)

where `std` divides the sum of squares by the group's size. Each call reads a part of a longer tape of rewards. The
referee draws where it begins, and one reward that is changed in it: neither an earlier answer nor a part of it helps.
Digest and files cover one call of several, and the referee decides which.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import covered
from baselines.benchmarks.covered import Answered, Asked
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, calling, save, serve
from baselines.contract.tapes import pieces, places
from baselines.inputs.post_training import STRIDE

EPSILON = 1e-8
# Advantages of a call from which on it is read by itself.
_LONG = 8192

Rewards = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: so many groups, each of `size` answers."""

    groups: int
    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("groups", "size")


def joined(outputs: list[Rewards]) -> Rewards:
    """The arrays of these calls as one, without a copy where there is one alone."""
    return np.asarray(outputs[0]) if len(outputs) == 1 else np.concatenate(outputs)


@dataclass(frozen=True, kw_only=True)
class Course:
    """How an implementation computes.

    Attributes:
        call: the advantages of what `laid_out` gives, in any shape of groups x size values, f64.
        laid_out: rewards (groups, size) as the implementation takes them; not timed.
        gathered: the advantages of several calls as one NumPy array, in any shape, f64; not timed.
    """

    call: Callable[[Any], Any]
    laid_out: Callable[[Rewards], Any] = lambda rewards: rewards
    gathered: Callable[[list[Any]], Rewards] = joined


def run(options: argparse.Namespace, course: Course) -> None:
    """Serve every case: read the tape, and compute as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Asked, Answered]:
        shape = (parameters.groups, parameters.size)
        count = parameters.groups * parameters.size
        tape = Tape(protocol.input_file(request, case, "rewards.npy", np.load), count)
        laid_out = [course.laid_out(piece.reshape(shape)) for piece in tape.pieces]

        compute_all = calling(course.call)

        def inputs(numbers: Numbers) -> Asked:
            drawn = [laid_out[place] for place in tape.drawn(numbers)]
            return Asked(drawn, parameters.covered(numbers))

        def together(outputs: list[Any]) -> Rewards:
            """These calls' advantages; another precision than f64 is a defect."""
            array = course.gathered(outputs)
            if array.dtype != np.float64:
                raise TypeError(f"the implementation computed in {array.dtype}, not in float64")
            return array.reshape(-1, *shape)

        def digested(answered: Answered) -> list[Rewards]:
            """Short calls are read as one array. To join long ones would take as long as to compute them."""
            outputs = answered.calls[answered.covered]
            return [together(outputs)] if count < _LONG else [together([output]) for output in outputs]

        def write(_: Asked, answered: Answered, folder: Path) -> None:
            save(folder, "advantages.npy", list(together(answered.calls[answered.covered])))

        return Operation(
            calls=parameters.calls,
            inputs=inputs,
            run=lambda asked: Answered(compute_all(asked.calls), asked.covered),
            digested=digested,
            write=write,
            counts={"rewards": count},
        )

    serve(options, Parameters, operation)


class Tape:
    """Rewards, of which each call reads a piece with one reward of its own."""

    def __init__(self, rewards: Rewards, count: int) -> None:
        self._original = rewards
        self._rewards = rewards.copy()
        self._changed = np.empty(0, np.int64)
        self._count = count
        self.pieces = pieces(self._rewards, count, stride=STRIDE)

    def drawn(self, numbers: Numbers) -> list[int]:
        """The place of each call's piece. The changes of the last repetition are undone, and those of this one made.

        A number's low 32 bits choose the place, bits 12 to 43 the reward that is changed, and its high 53 bits the new
        reward, uniform from -1 to 1.
        """
        self._rewards[self._changed] = self._original[self._changed]
        found = places(numbers, 0)
        within = ((numbers >> np.uint64(12)) % np.uint64(2**32) % np.uint64(self._count)).astype(np.int64)
        self._changed = within + np.array(found) * STRIDE
        self._rewards[self._changed] = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
        return found
