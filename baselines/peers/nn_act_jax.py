"""`nn-act` in JAX: a call is one compiled program, whose answers are complete when it returns."""

import jax
from jax import Array

from baselines.benchmarks import nn_act
from baselines.benchmarks.nn_act import Call, Given
from baselines.contract import protocol
from baselines.peers import dqn_jax, ppo_jax, sac_jax
from baselines.peers.library_jax import JAX


def dqn_call(given: Given) -> Call:
    """The values of all actions."""
    online = dqn_jax.given_learner(given).online
    program = jax.jit(lambda observations: (dqn_jax.values_of(online, observations),))
    return lambda seen: program(seen.observations)


def ppo_call(given: Given) -> Call:
    """The policy and the values."""
    agent = ppo_jax.given_learner(given).agent

    def both(observations: Array) -> tuple[Array, Array]:
        logits = ppo_jax.outputs_of(agent, "actor", observations)
        return jax.nn.log_softmax(logits), ppo_jax.values_of(agent, observations)

    program = jax.jit(both)
    return lambda seen: program(seen.observations)


def sac_call(given: Given) -> Call:
    """An action."""
    actor, bounds = sac_jax.given_learner(given).actor, sac_jax.given_bounds(given)
    program = jax.jit(lambda *seen: (sac_jax.sample(actor, bounds, *seen)[0],))
    return lambda seen: program(*seen)


if __name__ == "__main__":
    ways = {"dqn": dqn_call, "ppo": ppo_call, "sac": sac_call}
    nn_act.run(protocol.parser(__doc__).parse_args(), ways, JAX)
