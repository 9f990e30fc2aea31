"""`update` and `nn-step` in JAX: a step is one compiled program, or with --scan all steps of a repetition are one.

Both are the updates of the trainings in JAX. The first is what a program in Python calls for each minibatch. The second
is what a training in JAX is made of, so no call's cost is in it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from baselines.benchmarks import ppo as ppo_work
from baselines.benchmarks import update
from baselines.benchmarks.update import OF_MINIBATCHES, Given, Updates, Way
from baselines.contract import protocol
from baselines.peers import dqn_jax, ppo_jax, sac_jax
from baselines.peers.library_jax import JAX
from baselines.peers.networks_jax import Weights, named
from baselines.peers.ring_jax import Batch


class Steps(NamedTuple):
    """An algorithm's updates as functions without memory.

    Attributes:
        begin: what learns, with the input file's weights.
        batches: all minibatches, each array's first axis theirs.
        step: what learns after an update from one of them.
        weights: its parameters by name.
        parity: what the gate compares.
    """

    begin: Callable[[Given], Any]
    batches: Callable[[Given], Any]
    step: Callable[[Any, Any], Any]
    weights: Callable[[Any], Mapping[str, Array]]
    parity: Callable[[Given, int], Mapping[str, Any]]


class CriticsBatch(NamedTuple):
    """A minibatch of the critics, and the noise and the scale of the actions that follow."""

    batch: Batch
    noise: Array


def critics_step(learner: sac_jax.Learner, given: CriticsBatch) -> tuple[sac_jax.Learner, Array, Weights]:
    """One update of SAC's critics; its loss and gradients."""
    bounds = sac_jax.given_bounds({"actions": given.batch.actions})
    return sac_jax.update_critics(learner, bounds, given.batch, given.noise)


def critics_batches(given: Given) -> CriticsBatch:
    """All minibatches."""
    return CriticsBatch(sac_jax.given_batches(given), given["noise.next"])


def critics_parity(given: Given, updates: int) -> Mapping[str, Any]:
    """As the reference's, without `exact.*`."""
    learner, batches, step = (
        sac_jax.given_learner(given),
        critics_batches(given),
        jax.jit(critics_step),
    )
    result: Weights = {}
    for index in range(updates):
        learner, loss, gradients = step(learner, part(batches, index))
        if index == 0:
            result = {"qf_loss": loss} | named("gradient", gradients) | named("parameter", learner.critics)
    return result | named("after", learner.critics)


STEPS = {
    "dqn": Steps(
        begin=dqn_jax.given_learner,
        batches=dqn_jax.given_batches,
        step=lambda learner, batch: dqn_jax.update(learner, batch)[0],
        weights=lambda learner: learner.online,
        parity=dqn_jax.parity,
    ),
    "ppo": Steps(
        begin=ppo_jax.given_learner,
        batches=ppo_jax.given_batches,
        step=lambda learner, batch: ppo_jax.update(learner, batch, ppo_work.LEARNING_RATE)[0],
        weights=lambda learner: learner.agent,
        parity=ppo_jax.parity,
    ),
    "critics": Steps(
        begin=sac_jax.given_learner,
        batches=critics_batches,
        step=lambda learner, batch: critics_step(learner, batch)[0],
        weights=lambda learner: learner.critics,
        parity=critics_parity,
    ),
}


def part(batches: Any, index: int) -> Any:
    """One minibatch of all."""
    return jax.tree.map(lambda each: each[index], batches)


def beginning(steps: Steps) -> Callable[[Given], Any]:
    """What makes what learns, in memory of its own, because a program takes its place.

    It is one program. Made array by array it takes longer than a repetition of short steps.
    """
    whole = jax.jit(lambda weights: jax.tree.map(jnp.copy, steps.begin(weights)))
    return lambda given: whole({name: each for name, each in given.items() if name not in OF_MINIBATCHES})


def separating(steps: Steps) -> Callable[[Given], Any]:
    """What makes a list of the minibatches, each in arrays of its own, in one program as well."""

    def parts(minibatches: Given) -> list[Any]:
        batches = steps.batches(minibatches)
        return [part(batches, index) for index in update.minibatches(minibatches)]

    whole = jax.jit(parts)
    return lambda given: whole({name: each for name, each in given.items() if name in OF_MINIBATCHES})


def one_at_a_time(steps: Steps) -> Way:
    """A program for each step. What learns takes its own place in memory."""
    step, fresh, separate = jax.jit(steps.step, donate_argnums=0), beginning(steps), separating(steps)

    def start(given: Given) -> Updates:
        learner, each = fresh(given), separate(given)

        def one(index: int) -> None:
            nonlocal learner
            learner = step(learner, each[index])

        def learn(one: Callable[[int], object], minibatches: range) -> None:
            update.one_by_one(one, minibatches)
            jax.block_until_ready(learner)

        return Updates(one, lambda: steps.weights(learner), learn)

    return compiling(start, steps)


def scanned(steps: Steps) -> Way:
    """A program for all steps of a repetition."""
    course = jax.jit(
        lambda learner, batches: lax.scan(lambda *each: (steps.step(*each), None), learner, batches)[0],
        donate_argnums=0,
    )

    fresh = beginning(steps)

    def start(given: Given) -> Updates:
        learner, batches = fresh(given), steps.batches(given)

        def learn(_: Callable[[int], object], __: range) -> None:
            nonlocal learner
            learner = jax.block_until_ready(course(learner, batches))

        return Updates(lambda _: None, lambda: steps.weights(learner), learn)

    return compiling(start, steps)


def compiling(start: Callable[[Given], Updates], steps: Steps) -> Way:
    """The way whose parity updates come after a repetition that compiles its programs."""

    def parity(given: Given, count: int) -> Mapping[str, Any]:
        few = {name: each[:count] if name in OF_MINIBATCHES else each for name, each in given.items()}
        updates = start(few)
        updates.learn(updates.update, update.minibatches(few))
        return steps.parity(given, count)

    return Way(start, parity)


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--scan", action="store_true", help="all steps of a repetition in one program")
    options = parser.parse_args()
    way = scanned if options.scan else one_at_a_time
    update.run(options, {name: way(steps) for name, steps in STEPS.items()}, JAX)
