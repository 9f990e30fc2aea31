"""`ffi` and `env-single` by the environments in Rust as a Python user steps them: the module `torchforge`.

With --gymnasium one environment is what `gymnasium.make` makes of the registered name, its limit of steps included.
"""

import torchforge
import torchforge.envs

from baselines.benchmarks import env_step, unchecked
from baselines.contract import protocol


def make(parameters: env_step.Parameters) -> env_step.Stepped:
    """One environment, or a vector of them."""
    stepped: env_step.Stepped = (
        torchforge.make_vec(env_step.NAME, parameters.environments)
        if parameters.vector
        else torchforge.make(env_step.NAME)
    )
    return stepped


def make_registered(parameters: env_step.Parameters) -> env_step.Stepped:
    """A `gymnasium.Env`."""
    if parameters.vector:
        protocol.refuse("--gymnasium makes one environment; leave vectors to the others")
    return unchecked.maker(f"torchforge/{env_step.NAME}")()


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--gymnasium", action="store_true", help="through gymnasium.make")
    options = parser.parse_args()
    env_step.run(options, make_registered if options.gymnasium else make)
