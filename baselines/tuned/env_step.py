"""`ffi` by Gymnasium 1.2.3 at its best, or with --vectorised by its own vector in NumPy.

At its best it leaves out what checks its use, and hands out a vector's observations without a copy. `CartPoleVectorEnv`
computes all environments in NumPy at once and draws their resets from one generator: its episodes are others.
"""

from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import SyncVectorEnv

from baselines.benchmarks import env_step, unchecked
from baselines.contract import protocol


def make(parameters: env_step.Parameters) -> env_step.Stepped:
    """The reference's work with what changes no result left out."""
    one = unchecked.maker(env_step.NAME)
    return SyncVectorEnv([one] * parameters.environments, copy=False) if parameters.vector else one()


def make_vectorised(parameters: env_step.Parameters) -> env_step.Stepped:
    """A vector alone; there is no single environment of that kind."""
    if not parameters.vector:
        protocol.refuse("CartPoleVectorEnv is a vector; leave this case to the others")
    return CartPoleVectorEnv(num_envs=parameters.environments, max_episode_steps=500)


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--vectorised", action="store_true", help="Gymnasium's own vector in NumPy")
    options = parser.parse_args()
    env_step.run(options, make_vectorised if options.vectorised else make)
