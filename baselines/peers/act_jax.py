"""`act` in JAX: a forward pass is one compiled program, whose values are complete when it returns."""

import jax

from baselines.benchmarks import act
from baselines.contract import protocol
from baselines.peers import dqn_jax
from baselines.peers.library_jax import JAX


def prepare(given: act.Given) -> act.Forward:
    """The forward pass that is timed."""
    online = dqn_jax.given_learner(given).online
    program: act.Forward = jax.jit(lambda observation: dqn_jax.values_of(online, observation))
    return program


if __name__ == "__main__":
    act.run(protocol.parser(__doc__).parse_args(), prepare, JAX)
