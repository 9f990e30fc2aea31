"""`multiply` by XLA: a product of two matrices as one compiled program, for the best rate that a library reaches.

    python3 -m baselines.peers.multiply_jax --case ID --parameters JSON ...

The program takes NumPy's arrays, and the product is complete when the clock stops.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
from jax import Array

from baselines.contract import protocol
from baselines.references import machine

# XLA reads both before its first program.
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(protocol.threads() > 1).lower()}"
os.environ["NPROC"] = str(protocol.threads())


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
