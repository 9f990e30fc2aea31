"""PPO in JAX 0.12.0.1: the work of `baselines/references/ppo.py`, environments included, as one compiled program.

It has random numbers of its own: JAX's for weights, actions and the order of minibatches, NumPy's for the environments.

By hand, from the repository's root:

    uv run --project baselines --group peers python -m baselines.peers.ppo_jax [--seed 1] [--iterations 976]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.nn.initializers import orthogonal
from numpy.typing import NDArray

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training
from baselines.contract import protocol
from baselines.peers import programs_jax
from baselines.peers.environments_jax import Game, Generator, Numbers, Play, seeded
from baselines.peers.networks_jax import (
    Adam,
    Weights,
    adam_step,
    apply,
    fresh_adam,
    in_jax,
    in_numpy,
    named,
)
from baselines.peers.programs_jax import Played

NETWORKS = ("critic", "actor")


class Rollout(NamedTuple):
    """Steps of all environments: (steps, environments, ...), f32; `dones[t]` is the flag before step t."""

    observations: Array
    actions: Array
    log_probabilities: Array
    rewards: Array
    dones: Array
    values: Any


class Minibatch(NamedTuple):
    """Rows of a rollout: observations (n, ...) f32, actions (n,) whole, the others (n,) f32."""

    observations: Array
    actions: Array
    log_probabilities: Array
    advantages: Array
    returns: Array
    values: Array


class Losses(NamedTuple):
    """What one update computed on its way; `gradient_norm` is that before clipping."""

    loss: Array
    policy_loss: Array
    value_loss: Array
    entropy: Array
    gradient_norm: Array


class Learner(NamedTuple):
    """Critic and actor, under their names, and what Adam remembers of both."""

    agent: Weights
    adam: Adam


class State(NamedTuple):
    """All that an iteration changes."""

    key: Array
    plays: Play
    """Of all environments: each field has them as its first axis."""
    done: Array
    """Whether the last step of each environment ended an episode, f32."""
    environment_steps: Array
    ended_before: Array
    """What the environments said themselves of that step."""
    wrong_flags: Array


class Learnt(NamedTuple):
    """What is kept of every iteration."""

    learning_rate: Array
    environment_steps: Array


def make_network(key: Array, name: str, inputs: int, outputs: int, gain: float) -> Weights:
    """Two hidden layers with orthogonal weights and without biases; the gain is that of the head."""
    sizes = ((inputs, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, gain))
    weights: Weights = {}
    for index, (key_of_layer, (rows, columns, scale)) in enumerate(
        zip(jax.random.split(key, len(sizes)), sizes, strict=True)
    ):
        weight = orthogonal(scale)(key_of_layer, (columns, rows), jnp.float32)
        weights[f"{name}.{2 * index}.weight"] = weight
        weights[f"{name}.{2 * index}.bias"] = jnp.zeros(columns, jnp.float32)
    return weights


def initial_weights(agent: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Of first weights what does not depend on the draw, for the trace: Gram matrices and biases."""
    result = {}
    for name, weight in agent.items():
        if name.endswith("bias"):
            result[f"initial.{name}"] = weight
        else:
            rows, columns = weight.shape
            result[f"initial.{name}.gram"] = weight @ weight.T if rows <= columns else weight.T @ weight
    return result


def outputs_of(agent: Weights, network: str, observations: Array) -> Array:
    """Observations (..., inputs) to a network's outputs (..., outputs)."""
    hidden = jnp.tanh(apply(agent, f"{network}.0", observations))
    hidden = jnp.tanh(apply(agent, f"{network}.2", hidden))
    return apply(agent, f"{network}.4", hidden)


def values_of(agent: Weights, observations: Array) -> Array:
    """The critic's values (...) of observations (..., inputs)."""
    return outputs_of(agent, "critic", observations)[..., 0]


def annealed(iteration: Array, iterations: Array) -> Array:
    """The learning rate of an iteration, counted from 1: in a straight line to 0; f64."""
    return (1.0 - (iteration - 1.0) / iterations) * work.LEARNING_RATE


def advantages_of(rewards: Array, dones: Array, values: Array, next_value: Array, next_done: Array) -> Array:
    """Generalised advantage estimation over (steps, environments), as the reference does."""
    continues = 1.0 - jnp.concatenate([dones[1:], next_done[None]])
    following = jnp.concatenate([values[1:], next_value[None]])
    deltas = rewards + work.GAMMA * following * continues - values

    def back(last: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, going_on = step
        last = delta + work.GAMMA * work.GAE_LAMBDA * going_on * last
        return last, last

    return lax.scan(back, jnp.zeros_like(next_value), (deltas, continues), reverse=True)[1]


def update(learner: Learner, batch: Minibatch, rate: Array | float) -> tuple[Learner, Losses, Weights]:
    """One gradient step on the clipped surrogate, the clipped value loss and the entropy; its clipped gradients."""

    def loss_of(agent: Weights) -> tuple[Array, tuple[Array, Array, Array]]:
        logs = jax.nn.log_softmax(outputs_of(agent, "actor", batch.observations))
        taken = jnp.arange(logs.shape[1]) == batch.actions[:, None]
        ratio = jnp.exp(jnp.where(taken, logs, 0).sum(axis=1) - batch.log_probabilities)
        # XLA adds one number after another. In f32 a mean of numbers that nearly cancel would keep too few digits.
        exact = batch.advantages.astype(jnp.float64)
        normalised = (exact - exact.mean()) / (jnp.std(exact, ddof=1) + work.ADVANTAGE_EPSILON)
        advantages = normalised.astype(jnp.float32)
        clipped_ratio = jnp.clip(ratio, 1 - work.CLIP, 1 + work.CLIP)
        losses = jnp.maximum(-advantages * ratio, -advantages * clipped_ratio)
        policy_loss = losses.mean(dtype=jnp.float64).astype(jnp.float32)

        values = values_of(agent, batch.observations)
        moved = jnp.clip(values - batch.values, -work.CLIP, work.CLIP)
        unclipped, clipped = (
            jnp.square(values - batch.returns),
            jnp.square(batch.values + moved - batch.returns),
        )
        value_loss = 0.5 * jnp.maximum(unclipped, clipped).mean()

        entropy = -(jnp.exp(logs) * logs).sum(axis=1).mean()
        loss = policy_loss - work.ENTROPY_COEFFICIENT * entropy + value_loss * work.VALUE_COEFFICIENT
        return loss, (policy_loss, value_loss, entropy)

    (loss, (policy_loss, value_loss, entropy)), gradients = jax.value_and_grad(loss_of, has_aux=True)(
        learner.agent
    )
    norm = jnp.sqrt(sum(jnp.square(each).sum() for each in jax.tree.leaves(gradients)))
    share = jnp.minimum(1.0, work.GRADIENT_NORM / (norm + 1e-6))
    gradients = jax.tree.map(lambda gradient: gradient * share, gradients)
    agent, adam = adam_step(learner.agent, gradients, learner.adam, rate, work.ADAM_EPSILON)
    return Learner(agent, adam), Losses(loss, policy_loss, value_loss, entropy, norm), gradients


class Course:
    """The training of a case, as functions that JAX compiles."""

    def __init__(self, parameters: work.Parameters) -> None:
        self.game = Game(parameters.environment)
        if not isinstance(self.game.space, gym.spaces.Discrete):
            protocol.refuse(
                f"this PPO needs discrete actions, not {self.game.space}; name another environment"
            )
        self.actions = int(self.game.space.n)
        self.parameters = parameters

    def numbers(self) -> Numbers:
        """The arguments that both programs take along."""
        return {**self.game.numbers(), "iterations": np.float64(self.parameters.iterations)}

    def begin(self, seed: Array, generators: Generator, numbers: Numbers) -> tuple[Learner, State]:
        """The first weights, and the first episodes."""
        key, of_critic, of_actor = jax.random.split(jax.random.key(seed), 3)
        agent = make_network(of_critic, "critic", self.game.observation, 1, gain=1.0)
        agent |= make_network(of_actor, "actor", self.game.observation, self.actions, gain=0.01)
        count = self.parameters.environments
        state = State(
            key=key,
            plays=jax.vmap(lambda generator: self.game.begin(generator, numbers))(generators),
            done=jnp.zeros(count, jnp.float32),
            environment_steps=jnp.int32(0),
            ended_before=jnp.zeros(count, jnp.bool_),
            wrong_flags=jnp.int32(0),
        )
        return Learner(agent, fresh_adam(agent)), state

    def train(
        self, begun: tuple[Learner, State], numbers: Numbers
    ) -> tuple[tuple[Learner, State], tuple[Played, Learnt]]:
        """The training loop."""

        def iteration(
            carry: tuple[Learner, State], number: Array
        ) -> tuple[tuple[Learner, State], tuple[Played, Learnt]]:
            learner, state = carry
            rate = annealed(number, numbers["iterations"])
            key, of_actions, of_order = jax.random.split(state.key, 3)
            state, rollout, played = self.act(of_actions, learner.agent, state, numbers)
            flat = self.look_back(learner.agent, state, rollout)
            learner = self.learn(of_order, learner, flat, rate)
            flags = jnp.concatenate([rollout.dones, state.done[None]])
            said = jnp.concatenate([state.ended_before[None], played.ended])
            state = state._replace(
                key=key,
                ended_before=played.ended[-1],
                wrong_flags=state.wrong_flags + (flags != said).sum(dtype=jnp.int32),
            )
            return (learner, state), (played, Learnt(rate, state.environment_steps))

        numbers_of_iterations = jnp.arange(1, self.parameters.iterations + 1, dtype=jnp.float64)
        done: tuple[tuple[Learner, State], tuple[Played, Learnt]]
        done = lax.scan(iteration, begun, numbers_of_iterations)
        return done

    def act(
        self, key: Array, agent: Weights, state: State, numbers: Numbers
    ) -> tuple[State, Rollout, Played]:
        """A rollout."""
        shape = (self.parameters.rollout_steps, self.parameters.environments, self.actions)
        # The largest of the log-probabilities with such noise is a draw from them.
        noise = jax.random.gumbel(key, shape, jnp.float32)

        def step(
            carry: tuple[Play, Array, Array], noise: Array
        ) -> tuple[tuple[Play, Array, Array], tuple[Rollout, Played]]:
            plays, done, environment_steps = carry
            observations = jax.vmap(self.game.observe)(plays)
            logs = jax.nn.log_softmax(outputs_of(agent, "actor", observations))
            actions = (logs + noise).argmax(axis=1)
            taken = jnp.arange(self.actions) == actions[:, None]
            plays, seen = jax.vmap(self.game.advance, in_axes=(0, 0, None))(plays, actions, numbers)
            rollout = Rollout(
                observations=observations,
                actions=actions.astype(jnp.uint8),
                log_probabilities=jnp.where(taken, logs, 0).sum(axis=1),
                rewards=seen.reward.astype(jnp.float32),
                dones=done,
                # Nothing asks for them before the rollout's end: there they are computed at once.
                values=None,
            )
            played = Played(rollout.actions, seen.ended, seen.total)
            environment_steps += self.parameters.environments
            return (plays, seen.ended.astype(jnp.float32), environment_steps), (rollout, played)

        carry = (state.plays, state.done, state.environment_steps)
        (plays, done, environment_steps), (rollout, played) = lax.scan(step, carry, noise)
        rollout = rollout._replace(values=values_of(agent, rollout.observations))
        return state._replace(plays=plays, done=done, environment_steps=environment_steps), rollout, played

    def look_back(self, agent: Weights, state: State, rollout: Rollout) -> Minibatch:
        """All rows of a rollout, with their advantages and returns."""
        next_value = values_of(agent, jax.vmap(self.game.observe)(state.plays))
        advantages = advantages_of(rollout.rewards, rollout.dones, rollout.values, next_value, state.done)
        rows = Minibatch(
            observations=rollout.observations,
            actions=rollout.actions,
            log_probabilities=rollout.log_probabilities,
            advantages=advantages,
            returns=advantages + rollout.values,
            values=rollout.values,
        )
        return Minibatch(*(each.reshape(-1, *each.shape[2:]) for each in rows))

    def learn(self, key: Array, learner: Learner, flat: Minibatch, rate: Array) -> Learner:
        """All epochs over a rollout, each in an order of its own."""
        shape = (self.parameters.epochs, self.parameters.rollout_rows)
        updates = self.parameters.epochs * self.parameters.minibatches
        order = jnp.argsort(jax.random.bits(key, shape), axis=1).reshape(updates, -1)

        def minibatch(learner: Learner, chosen: Array) -> tuple[Learner, None]:
            batch = Minibatch(*(each[chosen] for each in flat))
            return update(learner, batch, rate)[0], None

        learned: Learner = lax.scan(minibatch, learner, order)[0]
        return learned


@cache
def compiled(parameters: work.Parameters) -> tuple[Course, programs_jax.Programs]:
    """The training of a case, and its programs."""
    course = Course(parameters)
    arguments = (np.uint32(0), generators_of(0, parameters.environments), course.numbers())
    return course, programs_jax.compiled(course.begin, course.train, *arguments)


def generators_of(seed: int, count: int) -> Generator:
    """The generators of all environments: the seeds of the others count on from the first one's."""
    each = [seeded(seed + index) for index in range(count)]
    return Generator(*(np.stack(words) for words in zip(*each, strict=True)))


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train an agent."""
    course, programs = compiled(parameters)
    generators = generators_of(seed, parameters.environments)
    begun = jax.block_until_ready(programs.begin(np.uint32(seed), generators, programs.numbers))
    first_weights = in_numpy(begun[0].agent)

    started = time.perf_counter()
    done = jax.block_until_ready(programs.train(begun, programs.numbers))
    ended = time.perf_counter()
    (learner, state), kept = done
    played, learnt = jax.tree.map(np.asarray, kept)
    actions, ends, totals = (each.reshape(-1, parameters.environments) for each in played)
    updates, rows = (
        parameters.epochs * parameters.minibatches,
        parameters.rollout_rows // parameters.minibatches,
    )
    trace = {
        "learning_rate": learnt.learning_rate,
        "update_steps": np.repeat(learnt.environment_steps, updates).astype(np.int64),
        "batch_rows": np.full(parameters.iterations * updates, rows),
        "wrong_flags": np.array([state.wrong_flags], np.int64),
    }
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=int(state.environment_steps),
        gradient_steps=int(learner.adam.steps),
        episodes=programs_jax.episodes(ends, totals),
        weights=in_numpy(learner.agent),
        trace=in_numpy(trace) | initial_weights(first_weights),
        logs=programs_jax.logs(course.game.space, actions, ends, seed),
    )


def given_learner(given: Mapping[str, Any]) -> Learner:
    """The agent with the input file's weights, before its first update."""
    agent = in_jax({name: array for name, array in given.items() if name.partition(".")[0] in NETWORKS})
    return Learner(agent, fresh_adam(agent))


def given_batches(given: Mapping[str, Any]) -> Minibatch:
    """All minibatches of the input file, the first axis theirs."""
    return Minibatch(**in_jax({name: given[name] for name in Minibatch._fields}))


def parity(given: Mapping[str, NDArray[Any]], updates: int) -> dict[str, NDArray[Any]]:
    """As the reference's, without `exact.*`."""
    arrays = in_jax(given)
    of_rollout = ("rewards", "dones", "values", "next_value", "next_done")
    advantages = jax.jit(advantages_of)(*(arrays[f"rollout.{name}"] for name in of_rollout))
    result = {"advantages": advantages, "returns": advantages + arrays["rollout.values"]}
    learner, batches, one_update = given_learner(given), given_batches(given), jax.jit(update)
    for index in range(updates):
        batch = Minibatch(*(each[index] for each in batches))
        learner, losses, gradients = one_update(learner, batch, work.LEARNING_RATE)
        if index == 0:
            result |= losses._asdict() | named("gradient", gradients) | named("parameter", learner.agent)
    return in_numpy(result | named("after", learner.agent))


if __name__ == "__main__":
    programs_jax.main("ppo_jax", __doc__, work, programs_jax.Way(compiled, train, parity), FIRST_LINE)
