"""What this machine can do: `multiply`, the product of two square matrices, and `copy`, that of memory; f32.

    python3 -m baselines.references.machine multiply|copy --case ID --parameters JSON ...

The best rates that its libraries reach are what an update's time is held against: no kernel of an update can be
faster than the same arithmetic in one large product, or the same traffic in one plain copy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: `size` rows and columns of each matrix, or `size` values that are copied."""

    size: int


def multiply(inputs: Mapping[str, Floats]) -> Callable[[], Floats]:
    """The product, in memory of its own."""
    left, right = inputs["left"], inputs["right"]
    product = np.empty_like(left)
    return lambda: np.matmul(left, right, out=product)


def copy(inputs: Mapping[str, Floats]) -> Callable[[], Floats]:
    """The copy: everything is read once and written once."""
    values = inputs["values"]
    result = np.empty_like(values)

    def call() -> Floats:
        np.copyto(result, values)
        return result

    return call


# The input files, the call, and the count with what a call is worth of it.
WORKS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Floats]], Callable[[], Floats]]]] = {
    "multiply": (("left", "right"), multiply),
    "copy": (("values",), copy),
}


def counts(work: str, size: int) -> dict[str, int]:
    """How much one call does: a product's additions and multiplications, or bytes read and written."""
    return {"operations": 2 * size**3} if work == "multiply" else {"bytes": 2 * 4 * size}


def main() -> None:
    """Serve every case: read its inputs, time the call, write the output, print the measurement."""
    parser = protocol.parser(__doc__)
    parser.add_argument("work", choices=WORKS, help="what is done")
    options = parser.parse_args()
    names, prepare = WORKS[options.work]

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        inputs: dict[str, Any] = {
            name: protocol.input_file(request, case, f"{name}.npy", np.load) for name in names
        }
        seconds, result = parameters.time(prepare(inputs))
        if (directory := request.output_of(case)) is not None:
            np.save(directory / "result.npy", result)
        return seconds, counts(options.work, parameters.size)

    protocol.serve(options, Parameters, serve)


if __name__ == "__main__":
    main()
