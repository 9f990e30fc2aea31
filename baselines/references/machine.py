"""What this machine can do: `multiply`, the product of two square matrices, and `copy`, that of memory; f32.

    python3 -m baselines.references.machine multiply|copy --case ID --parameters JSON ...

The best rates that its libraries reach are what an update's time is held against: no kernel of an update can be
faster than the same arithmetic in one large product, or the same traffic in one plain copy.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, save, serve
from baselines.contract.tapes import pieces, places

Floats = NDArray[np.float32]


# A call begins at a multiple of so many values of its tapes: 64 bytes of f32.
STRIDE = 16


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: `size` rows and columns of each matrix, or `size` values that are copied."""

    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise ValueError("'size' must be at least 1")
        if self.calls != 1:
            raise ValueError("'calls' must be 1: each call writes to the same memory")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done, in memory of its own.

    Attributes:
        tapes: the names of the input files.
        values: how many values of each tape a call reads, for a size.
        call: the work on what it reads, for a size.
        counts: how much one call does, for a size.
    """

    tapes: tuple[str, ...]
    values: Callable[[int], int]
    call: Callable[[int], Callable[[Sequence[Floats]], Any]]
    counts: Callable[[int], dict[str, int]]


def multiply(size: int) -> Callable[[Sequence[Floats]], Floats]:
    """The product of two matrices."""
    product = np.empty((size, size), np.float32)

    def call(matrices: Sequence[Floats]) -> Floats:
        left, right = matrices
        return np.matmul(left.reshape(size, size), right.reshape(size, size), out=product)

    return call


def copy(size: int) -> Callable[[Sequence[Floats]], Floats]:
    """The copy: everything is read once and written once."""
    result = np.empty(size, np.float32)

    def call(values: Sequence[Floats]) -> Floats:
        np.copyto(result, values[0])
        return result

    return call


# A product has additions and multiplications; a copy reads and writes its bytes.
WORKS: Mapping[str, Work] = {
    "multiply": Work(
        tapes=("left", "right"),
        values=lambda size: size**2,
        call=multiply,
        counts=lambda size: {"operations": 2 * size**3},
    ),
    "copy": Work(
        tapes=("values",), values=lambda size: size, call=copy, counts=lambda size: {"bytes": 2 * 4 * size}
    ),
}


def read(tapes: Sequence[Sequence[Floats]], numbers: Numbers) -> list[Floats]:
    """What the only call of a repetition reads of each tape."""
    return [tape[places(numbers, index)[0]] for index, tape in enumerate(tapes)]


def run(options: argparse.Namespace, work: Work) -> None:
    """Serve every case: read its tapes, and call as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[list[Floats], Any]:
        count = work.values(parameters.size)
        tapes = [
            pieces(protocol.input_file(request, case, f"{name}.npy", np.load), count, stride=STRIDE)
            for name in work.tapes
        ]
        return Operation(
            calls=1,
            inputs=lambda numbers: read(tapes, numbers),
            run=work.call(parameters.size),
            digested=lambda result: [np.asarray(result)],
            write=lambda _, result, folder: save(folder, "result.npy", [np.asarray(result)]),
            counts=work.counts(parameters.size),
        )

    serve(options, Parameters, operation)


def main() -> None:
    """Serve the work that is asked for."""
    parser = protocol.parser(__doc__)
    parser.add_argument("work", choices=WORKS, help="what is done")
    options = parser.parse_args()
    run(options, WORKS[options.work])


if __name__ == "__main__":
    main()
