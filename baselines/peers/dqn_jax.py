"""DQN in JAX 0.12.0.1: the work of `baselines/references/dqn.py`, environment included, as one compiled program.

It has random numbers of its own: JAX's for weights, exploration and minibatches, NumPy's for the environment.

By hand, from the repository's root:

    uv run --project baselines --group peers python -m baselines.peers.dqn_jax [--seed 1] [--steps 500000]
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
from numpy.typing import NDArray

from baselines.benchmarks import dqn as work
from baselines.benchmarks import training
from baselines.contract import protocol
from baselines.peers import programs_jax
from baselines.peers.environments_jax import Game, Generator, Numbers, Play, rounded, seeded
from baselines.peers.networks_jax import (
    Adam,
    Weights,
    adam_step,
    apply,
    fresh_adam,
    in_jax,
    in_numpy,
    initial_bounds,
    linear,
    named,
)
from baselines.peers.programs_jax import Played
from baselines.peers.ring_jax import Batch, Layout, Ring


class Learner(NamedTuple):
    """The networks that learn."""

    online: Weights
    target: Weights
    adam: Adam


class State(NamedTuple):
    """All that a step changes, and the key of all draws; `step` is the number of the next one."""

    key: Array
    step: Array
    play: Play
    ring: Ring


class Learnt(NamedTuple):
    """What is kept of every update."""

    steps: Array
    epsilon: Array
    buffer_rows: Array
    copied: Array
    copy_remainder: Array


def make_network(key: Array, inputs: int, outputs: int) -> Weights:
    """The Q network's first weights."""
    keys = jax.random.split(key, 3)
    return (
        linear(keys[0], "0", inputs, 120) | linear(keys[1], "2", 120, 84) | linear(keys[2], "4", 84, outputs)
    )


def values_of(weights: Weights, observations: Array) -> Array:
    """Observations (..., inputs) to one value per action (..., outputs)."""
    hidden = jax.nn.relu(apply(weights, "0", observations))
    hidden = jax.nn.relu(apply(weights, "2", hidden))
    return apply(weights, "4", hidden)


def update(learner: Learner, batch: Batch) -> tuple[Learner, Array, Weights]:
    """One gradient step on the squared temporal-difference error; its loss and gradients."""
    next_values = values_of(learner.target, batch.next_observations).max(axis=1)
    wanted = batch.rewards + work.GAMMA * next_values * (1 - batch.terminations)

    def loss_of(online: Weights) -> Array:
        values = values_of(online, batch.observations)
        taken = jnp.arange(values.shape[1]) == batch.actions
        return jnp.square(wanted - jnp.where(taken, values, 0).sum(axis=1)).mean()

    loss, gradients = jax.value_and_grad(loss_of)(learner.online)
    online, adam = adam_step(learner.online, gradients, learner.adam, work.LEARNING_RATE)
    return Learner(online, learner.target, adam), loss, gradients


def copy_weights(learner: Learner) -> tuple[Weights, Array]:
    """The target network after a soft update whose tau is 1, and its largest difference from the online one."""
    target = jax.tree.map(
        lambda one, other: work.TAU * one + (1 - work.TAU) * other, learner.online, learner.target
    )
    differences = jax.tree.map(lambda one, other: jnp.abs(one - other).max(), learner.online, target)
    return target, jnp.stack(jax.tree.leaves(differences)).max()


class Course:
    """The training loop of a case, as functions that JAX compiles."""

    def __init__(self, parameters: work.Parameters) -> None:
        if work.TARGET_NETWORK_FREQUENCY % parameters.train_frequency:
            protocol.refuse(
                f"'train_frequency' is {parameters.train_frequency}, and this program copies weights after updates "
                f"alone; give a divisor of {work.TARGET_NETWORK_FREQUENCY}"
            )
        self.game = Game(parameters.environment)
        if not isinstance(self.game.space, gym.spaces.Discrete):
            protocol.refuse(f"DQN needs discrete actions, not {self.game.space}; name another environment")
        self.actions = int(self.game.space.n)
        self.layout = Layout(work.BUFFER_SIZE, self.game.observation, 1)
        self.parameters = parameters
        steps, frequency = parameters.steps, parameters.train_frequency
        # An update comes after the last step of a block. Before the first block and after the last one lie other steps.
        self.updates = max(0, (steps - 1) // frequency - parameters.learning_starts // frequency)
        first = (parameters.learning_starts // frequency + 1) * frequency
        self.steps_before = first - frequency + 1 if self.updates else steps
        self.steps_after = steps - self.steps_before - self.updates * frequency

    def numbers(self) -> Numbers:
        """The arguments that both programs take along."""
        exploration = work.EXPLORATION_FRACTION * self.parameters.steps
        fall = (work.END_EPSILON - work.START_EPSILON) / exploration
        return {**self.game.numbers(), "fall_of_epsilon": np.float64(fall)}

    def begin(self, seed: Array, generator: Generator, numbers: Numbers) -> tuple[Learner, State]:
        """The first weights, and the first episode."""
        key, of_network = jax.random.split(jax.random.key(seed))
        online = make_network(of_network, self.game.observation, self.actions)
        target = jax.tree.map(jnp.copy, online)
        state = State(
            key=key,
            step=jnp.int32(0),
            play=self.game.begin(generator, numbers),
            ring=self.layout.empty(),
        )
        return Learner(online, target, fresh_adam(online)), state

    def train(
        self, begun: tuple[Learner, State], numbers: Numbers
    ) -> tuple[tuple[Learner, State], tuple[tuple[Played, ...], Learnt]]:
        """The training loop."""
        learner, state = begun
        keys = jax.random.split(state.key, 4)
        drawn = self.draws(keys[0], (self.steps_before,))
        state, before = self.play(drawn, state, learner.online, numbers)
        frequency = self.parameters.train_frequency
        rows = self.layout.count(self.steps_before + frequency * jnp.arange(1, self.updates + 1))
        shape = (self.updates, work.BATCH_SIZE)
        minibatches = jax.random.randint(keys[1], shape, 0, rows[:, None], jnp.int32)

        def block(
            carry: tuple[Learner, State], draws: tuple[tuple[Array, Array], Array]
        ) -> tuple[tuple[Learner, State], tuple[Played, Learnt]]:
            learner, state = carry
            drawn, rows = draws
            state, played = self.play(drawn, state, learner.online, numbers)
            learner, _, _ = update(learner, self.layout.batch(state.ring.rows[rows]))
            step = state.step - 1
            copied = step % work.TARGET_NETWORK_FREQUENCY == 0
            target, remainder = lax.cond(
                copied, copy_weights, lambda learner: (learner.target, jnp.float32(0)), learner
            )
            learnt = Learnt(
                steps=step,
                epsilon=self.epsilon(step, numbers),
                buffer_rows=self.layout.count(state.step),
                copied=copied,
                copy_remainder=remainder,
            )
            return (learner._replace(target=target), state), (played, learnt)

        drawn = self.draws(keys[2], (self.updates, frequency))
        (learner, state), (between, learnt) = lax.scan(block, (learner, state), (drawn, minibatches))
        drawn = self.draws(keys[3], (self.steps_after,))
        state, after = self.play(drawn, state, learner.online, numbers)
        return (learner, state), ((before, between, after), learnt)

    def draws(self, key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Of each step what decides whether it explores, and the action that it then takes."""
        of_exploring, of_actions = jax.random.split(key)
        actions = jax.random.randint(of_actions, shape, 0, self.actions, jnp.int32)
        return jax.random.uniform(of_exploring, shape, jnp.float64), actions.astype(jnp.uint8)

    def play(
        self, drawn: tuple[Array, Array], state: State, online: Weights, numbers: Numbers
    ) -> tuple[State, Played]:
        """One step for each draw, without an update."""
        played: tuple[State, Played]
        played = lax.scan(lambda state, draw: self.step(state, draw, online, numbers), state, drawn)
        return played

    def step(
        self, state: State, draw: tuple[Array, Array], online: Weights, numbers: Numbers
    ) -> tuple[State, Played]:
        """Act, at random with probability epsilon, else greedily, and remember."""
        observation, (chance, random_action) = self.game.observe(state.play), draw
        action = lax.cond(
            chance < self.epsilon(state.step, numbers),
            lambda: random_action,
            lambda: values_of(online, observation).argmax().astype(jnp.uint8),
        )
        play, seen = self.game.advance(state.play, action, numbers)
        ring = self.layout.add(state.ring, state.step, observation, action, seen)
        return State(state.key, state.step + 1, play, ring), Played(action, seen.ended, seen.total)

    def epsilon(self, step: Array, numbers: Numbers) -> Array:
        """The probability of exploring at a step, f64."""
        fallen = rounded(numbers["fall_of_epsilon"] * step, numbers)
        return jnp.maximum(fallen + work.START_EPSILON, work.END_EPSILON)


@cache
def compiled(parameters: work.Parameters) -> tuple[Course, programs_jax.Programs]:
    """The training of a case, and its programs."""
    course = Course(parameters)
    arguments = (np.uint32(0), seeded(0), course.numbers())
    return course, programs_jax.compiled(course.begin, course.train, *arguments)


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train an online network."""
    course, programs = compiled(parameters)
    begun = jax.block_until_ready(programs.begin(np.uint32(seed), seeded(seed), programs.numbers))
    first_weights = in_numpy(begun[0].online)

    started = time.perf_counter()
    done = jax.block_until_ready(programs.train(begun, programs.numbers))
    ended = time.perf_counter()
    (learner, state), kept = done
    played, learnt = jax.tree.map(np.asarray, kept)
    actions, ends, totals = (
        np.concatenate([part.reshape(-1, 1) for part in column]) for column in zip(*played, strict=True)
    )
    trace = {
        "update_steps": learnt.steps.astype(np.int64),
        "epsilon": learnt.epsilon,
        "copy_steps": learnt.steps[learnt.copied].astype(np.int64),
        "copy_remainder": learnt.copy_remainder[learnt.copied],
        "buffer_rows": learnt.buffer_rows.astype(np.int64),
        "batch_rows": np.full(len(learnt.steps), work.BATCH_SIZE),
        "truncations_stored_as_ends": np.array([state.ring.ends], np.int64),
        "last_observation_error": np.array([state.ring.error]),
    }
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=int(state.step),
        gradient_steps=int(learner.adam.steps),
        episodes=programs_jax.episodes(ends, totals),
        weights=in_numpy(learner.online),
        trace=in_numpy(trace) | initial_bounds(first_weights),
        logs=programs_jax.logs(course.game.space, actions, ends, seed),
    )


def given_learner(given: Mapping[str, Any]) -> Learner:
    """The networks with the input file's weights, before their first update."""
    online, target = (in_jax(training.layers(given, name)) for name in ("online", "target"))
    return Learner(online, target, fresh_adam(online))


def given_batches(given: Mapping[str, Any]) -> Batch:
    """All minibatches of the input file, the first axis theirs."""
    batches = Batch(**in_jax({name: given[name] for name in Batch._fields}))
    return batches._replace(actions=batches.actions[..., None])


def parity(given: Mapping[str, NDArray[Any]], updates: int) -> dict[str, NDArray[Any]]:
    """As the reference's, without `exact.*`."""
    learner, batches, one_update = given_learner(given), given_batches(given), jax.jit(update)
    result: Weights = {}
    for index in range(updates):
        learner, loss, gradients = one_update(learner, Batch(*(each[index] for each in batches)))
        if index == 0:
            result = {"loss": loss} | named("gradient", gradients) | named("parameter", learner.online)
    return in_numpy(result | named("after", learner.online))


if __name__ == "__main__":
    programs_jax.main("dqn_jax", __doc__, work, programs_jax.Way(compiled, train, parity), FIRST_LINE)
