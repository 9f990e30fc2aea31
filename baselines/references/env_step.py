"""The reference of `ffi`: Gymnasium 1.2.3's environments as anybody makes them, alone or in a `SyncVectorEnv`."""

from functools import partial

import gymnasium
from gymnasium.vector import SyncVectorEnv

from baselines.benchmarks import env_step
from baselines.contract import protocol


def make(parameters: env_step.Parameters) -> env_step.Stepped:
    """As the documentation makes them."""
    one = partial(gymnasium.make, env_step.NAME)
    return SyncVectorEnv([one] * parameters.environments) if parameters.vector else one()


if __name__ == "__main__":
    env_step.run(protocol.parser(__doc__).parse_args(), make)
