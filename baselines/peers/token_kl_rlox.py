"""`token-kl` by rlox 1.2.0, through its Python module.

Its estimator k3 has the two policies the other way round than TRL's, so they change places among the arguments. It also
has functions of several sequences end to end. A call for each sequence gives the same numbers and takes less time: 20 µs
instead of 28 µs for 32 sequences of 128 tokens, 225 µs instead of 246 µs for 32 of 2,048.
"""

from typing import Any

import numpy as np
import rlox
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol

Floats = NDArray[Any]


def prepare(parameters: token_kl.Parameters) -> token_kl.Call:
    """The call that is timed: of one sequence rlox's own, of several as many calls."""
    one: token_kl.Call = rlox.compute_token_kl_schulman_f32 if parameters.k3 else rlox.compute_token_kl
    if parameters.batch == 1:
        return one
    kind = np.float32 if parameters.k3 else np.float64

    def several(firsts: list[Floats], seconds: list[Floats]) -> Floats:
        return np.array([*map(one, firsts, seconds)], kind)

    return several


def laid_out(array: Floats) -> Any:
    """One sequence, or a list of several."""
    return array[0] if len(array) == 1 else list(array)


def arguments(parameters: token_kl.Parameters, policy: Any, reference: Any) -> tuple[Any, ...]:
    """Both sequences, or lists of several, in the order that a call takes them in."""
    return (reference, policy) if parameters.k3 else (policy, reference)


COURSE = token_kl.Course(prepare=prepare, laid_out=laid_out, arguments=arguments)

if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
