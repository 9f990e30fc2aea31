"""`ffi` by Gymnasium 1.2.3: as anybody makes its environments, at its best, or as its own vector in NumPy.

`made` is `gymnasium.make` and `SyncVectorEnv`. `tuned` leaves out the checker, which does nothing after the first step,
and hands out a vector's observations without a copy. `vectorised` is `CartPoleVectorEnv`, which computes all
environments in NumPy at once and draws their resets from one generator: its episodes are others.
"""

from functools import partial

import gymnasium
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import SyncVectorEnv

from baselines import env_step, protocol


def made(parameters: env_step.Parameters) -> env_step.Stepped:
    """As the documentation makes them."""
    make = partial(gymnasium.make, env_step.NAME)
    return SyncVectorEnv([make] * parameters.environments) if parameters.vector else make()


def tuned(parameters: env_step.Parameters) -> env_step.Stepped:
    """The same work with what changes no result left out."""
    make = partial(gymnasium.make, env_step.NAME, disable_env_checker=True)
    return SyncVectorEnv([make] * parameters.environments, copy=False) if parameters.vector else make()


def vectorised(parameters: env_step.Parameters) -> env_step.Stepped:
    """A vector alone; there is no single environment of that kind."""
    if not parameters.vector:
        protocol.refuse("CartPoleVectorEnv is a vector; leave this case to the others")
    return CartPoleVectorEnv(num_envs=parameters.environments, max_episode_steps=500)


_WAYS = {"made": made, "tuned": tuned, "vectorised": vectorised}


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("way", choices=_WAYS, help="how the environments are made")
    options = parser.parse_args()
    env_step.run(options, _WAYS[options.way])
