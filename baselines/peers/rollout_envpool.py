"""`rollout` by EnvPool 1.2.7, and NumPy at its best: the pool of `env_vector_envpool.py`."""

import numpy as np

from baselines.benchmarks import numpy_rollout, rollout
from baselines.contract import protocol
from baselines.peers.env_vector_envpool import Pool


def make(environments: int, _: int) -> numpy_rollout.Vector:
    """It takes actions of i32."""
    return numpy_rollout.Vector(Pool(environments), numpy_rollout.estimate_in_place, np.int32)


if __name__ == "__main__":
    rollout.run(protocol.parser(__doc__).parse_args(), make)
