"""`ffi` by the environments in Rust as a Python user steps them: the module `torchforge`."""

import torchforge

from baselines.benchmarks import env_step
from baselines.contract import protocol


def make(parameters: env_step.Parameters) -> env_step.Stepped:
    """One environment, or a vector of them."""
    stepped: env_step.Stepped = (
        torchforge.make_vec(env_step.NAME, parameters.environments)
        if parameters.vector
        else torchforge.make(env_step.NAME)
    )
    return stepped


if __name__ == "__main__":
    env_step.run(protocol.parser(__doc__).parse_args(), make)
