"""The reference: an ordinary function. The helper of baselines/contract speaks with the referee."""

from dataclasses import dataclass

import numpy as np

from baselines.contract import protocol
from baselines.contract.operation import Operation, calling, save, serve


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    length: int
    steps: int


def scramble(x, n, steps):
    for _ in range(steps):
        x = x * (2 * x + n)
    return x


def prepare(request, case, parameters):
    x = protocol.input_file(request, case, "x.npy", np.load)
    return Operation(
        calls=parameters.calls,
        inputs=lambda numbers: numbers | 1,
        run=calling(lambda n: scramble(x, n, parameters.steps)),
        digested=lambda outputs: outputs,
        write=lambda _, outputs, folder: save(folder, "y.npy", outputs),
        counts={"elements": len(x)},
    )


serve(protocol.parser(__doc__).parse_args(), Parameters, prepare)
