"""The reference of `rollout`: Gymnasium 1.2.3's `SyncVectorEnv`, NumPy's arrays, and the plain backward loop of `gae`."""

from baselines.benchmarks import numpy_rollout, rollout
from baselines.contract import protocol
from baselines.references.env_vector import made
from baselines.references.gae import backward_loop

Array = numpy_rollout.Array


def estimate(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """Advantages and returns; the reference of `gae` has the same gamma, lambda and last value."""
    return backward_loop(rewards, values, dones, rollout.GAMMA)


def make(environments: int, _: int) -> numpy_rollout.Vector:
    """As anybody makes them."""
    return numpy_rollout.Vector(made(environments), estimate)


if __name__ == "__main__":
    rollout.run(protocol.parser(__doc__).parse_args(), make)
