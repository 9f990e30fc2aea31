"""`multiply` by XLA: a product of two matrices as one compiled program, for the best rate that a library reaches.

    python3 -m baselines.peers.multiply_jax --case ID --parameters JSON ...

The program takes NumPy's arrays, and the product is complete when the clock stops.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
from jax import Array

from baselines.contract import protocol
from baselines.peers import threads_jax
from baselines.references import machine

threads_jax.hold()


def multiply(size: int) -> Callable[[Sequence[machine.Floats]], Array]:
    """The product of two matrices of so many rows and columns."""
    program = jax.jit(lambda left, right: left.reshape(size, size) @ right.reshape(size, size))

    def call(matrices: Sequence[machine.Floats]) -> Array:
        product: Array = jax.block_until_ready(program(*matrices))
        return product

    return call


if __name__ == "__main__":
    work = replace(machine.WORKS["multiply"], call=multiply)
    machine.run(protocol.parser(__doc__).parse_args(), work)
