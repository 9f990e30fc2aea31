"""SAC in JAX 0.12.0.1: the work of `baselines/references/sac.py`, environment included, as one compiled program.

It has random numbers of its own: JAX's for weights, actions, noise and minibatches, NumPy's for the environment.

By hand, from the repository's root:

    uv run --project baselines --group peers python -m baselines.peers.sac_jax [--seed 1] [--steps 20000]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Mapping
from functools import cache
from math import log, pi
from typing import Any, NamedTuple

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from baselines.benchmarks import sac as work
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
    initial_bounds,
    linear,
    named,
)
from baselines.peers.programs_jax import Played
from baselines.peers.ring_jax import Batch, Layout, Ring

HALF_LOG_TWO_PI = 0.5 * log(2 * pi)
HIDDEN_LAYERS = ("actor.fc1", "actor.fc2", "qf1.fc1", "qf1.fc2")


class Bounds(NamedTuple):
    """What turns a number between -1 and 1 into an action: (actions,) each."""

    scale: Array
    bias: Array


class Learner(NamedTuple):
    """All that learns, and what its optimisers remember; both critics are in one."""

    actor: Weights
    critics: Weights
    targets: Weights
    """Under the names of the critics that they follow."""
    log_alpha: Array
    actor_adam: Adam
    critics_adam: Adam
    temperature_adam: Adam


class Noise(NamedTuple):
    """The normal numbers of an update, (n, actions) each; for actor and temperature those of each round."""

    following: Array
    policy: Array
    alpha: Array


class Round(NamedTuple):
    """What a round of actor and temperature computed on its way."""

    actor_loss: Array
    alpha_loss: Array
    alpha: Array
    actor_gradients: Weights
    alpha_gradient: Array


class State(NamedTuple):
    """All that a step changes, and the key of all draws; `step` is the number of the next one."""

    key: Array
    step: Array
    play: Play
    ring: Ring


class Learnt(NamedTuple):
    """What is kept of every update."""

    steps: Array
    buffer_rows: Array
    of_policy: Array
    """Whether actor and temperature learned too."""


def make_actor(key: Array, observation: int, hidden: int, actions: int) -> Weights:
    """The actor's first weights."""
    keys = jax.random.split(key, 4)
    return (
        linear(keys[0], "fc1", observation, hidden)
        | linear(keys[1], "fc2", hidden, hidden)
        | linear(keys[2], "fc_mean", hidden, actions)
        | linear(keys[3], "fc_logstd", hidden, actions)
    )


def make_critic(key: Array, inputs: int, hidden: int) -> Weights:
    """A critic's first weights."""
    keys = jax.random.split(key, 3)
    return (
        linear(keys[0], "fc1", inputs, hidden)
        | linear(keys[1], "fc2", hidden, hidden)
        | linear(keys[2], "fc3", hidden, 1)
    )


def make_learner(actor: Weights, critics: Weights, targets: Weights, log_alpha: Array) -> Learner:
    """Networks before their first update."""
    adams = (fresh_adam(each) for each in (actor, critics, log_alpha))
    return Learner(actor, critics, targets, log_alpha, *adams)


def policy(actor: Weights, observations: Array) -> tuple[Array, Array]:
    """Mean and logarithm of the standard deviation, (..., actions) each."""
    hidden = jax.nn.relu(apply(actor, "fc1", observations))
    hidden = jax.nn.relu(apply(actor, "fc2", hidden))
    log_std = jnp.tanh(apply(actor, "fc_logstd", hidden))
    half = 0.5 * (work.LOG_STD_MAX - work.LOG_STD_MIN)
    return apply(actor, "fc_mean", hidden), work.LOG_STD_MIN + half * (log_std + 1)


def sample(actor: Weights, bounds: Bounds, observations: Array, noise: Array) -> tuple[Array, Array]:
    """Actions (..., actions) and their log-probabilities (...), from normal noise."""
    mean, log_std = policy(actor, observations)
    raw = mean + noise * jnp.exp(log_std)
    squashed = jnp.tanh(raw)
    # One less the square of tanh, which near the bounds would be left with no more than tanh's last digits.
    decay = jnp.exp(-2 * jnp.abs(raw))
    slope = 4 * decay / jnp.square(1 + decay)
    # The density of the noise, put in simply.
    log_density = -0.5 * jnp.square(noise) - log_std - HALF_LOG_TWO_PI
    correction = jnp.log(bounds.scale * slope + work.LOG_EPSILON)
    return squashed * bounds.scale + bounds.bias, (log_density - correction).sum(axis=-1)


def value_of(critics: Weights, name: str, rows: Array) -> Array:
    """One critic's values (n,) of observations with actions beside them (n, ...)."""
    hidden = jax.nn.relu(apply(critics, f"{name}.fc1", rows))
    hidden = jax.nn.relu(apply(critics, f"{name}.fc2", hidden))
    return apply(critics, f"{name}.fc3", hidden)[:, 0]


def smaller_value(critics: Weights, observations: Array, actions: Array) -> Array:
    """The smaller of both critics' values (n,)."""
    rows = jnp.concatenate([observations, actions], axis=1)
    return jnp.minimum(*(value_of(critics, name, rows) for name in work.CRITICS))


def update_critics(
    learner: Learner, bounds: Bounds, batch: Batch, noise: Array
) -> tuple[Learner, Array, Weights]:
    """One gradient step on the sum of both critics' squared errors; its loss and gradients."""
    actions, logs = sample(learner.actor, bounds, batch.next_observations, noise)
    following = (
        smaller_value(learner.targets, batch.next_observations, actions) - jnp.exp(learner.log_alpha) * logs
    )
    wanted = batch.rewards + (1 - batch.terminations) * work.GAMMA * following

    def loss_of(critics: Weights) -> Array:
        rows = jnp.concatenate([batch.observations, batch.actions], axis=1)
        first, second = (jnp.square(value_of(critics, name, rows) - wanted).mean() for name in work.CRITICS)
        return first + second

    loss, gradients = jax.value_and_grad(loss_of)(learner.critics)
    critics, adam = adam_step(learner.critics, gradients, learner.critics_adam, work.CRITIC_LEARNING_RATE)
    return learner._replace(critics=critics, critics_adam=adam), loss, gradients


def update_policy(
    learner: Learner, bounds: Bounds, observations: Array, noise: Array, fresh: Array
) -> tuple[Learner, Round]:
    """One gradient step of the actor, then one of the temperature, from actions that are drawn afresh."""
    alpha = jnp.exp(learner.log_alpha)

    def actor_loss_of(actor: Weights) -> Array:
        actions, logs = sample(actor, bounds, observations, noise)
        return (alpha * logs - smaller_value(learner.critics, observations, actions)).mean()

    actor_loss, gradients = jax.value_and_grad(actor_loss_of)(learner.actor)
    actor, adam = adam_step(learner.actor, gradients, learner.actor_adam, work.POLICY_LEARNING_RATE)
    learner = learner._replace(actor=actor, actor_adam=adam)

    _, logs = sample(actor, bounds, observations, fresh)
    target = work.target_entropy(fresh.shape[-1])

    def alpha_loss_of(log_alpha: Array) -> Array:
        return (-jnp.exp(log_alpha) * (logs + target)).mean()

    alpha_loss, gradient = jax.value_and_grad(alpha_loss_of)(learner.log_alpha)
    log_alpha, adam = adam_step(
        learner.log_alpha, gradient, learner.temperature_adam, work.ALPHA_LEARNING_RATE
    )
    learner = learner._replace(log_alpha=log_alpha, temperature_adam=adam)
    return learner, Round(actor_loss, alpha_loss, jnp.exp(log_alpha), gradients, gradient)


def move_targets(learner: Learner) -> Learner:
    """Move the target critics a little towards the critics."""
    moved = jax.tree.map(
        lambda one, other: work.TAU * one + (1 - work.TAU) * other, learner.critics, learner.targets
    )
    return learner._replace(targets=moved)


class Course:
    """The training of a case, as functions that JAX compiles."""

    def __init__(self, parameters: work.Parameters) -> None:
        self.game = Game(parameters.environment)
        space = self.game.space
        if not isinstance(space, gym.spaces.Box):
            protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
        self.low, self.high = space.low, space.high
        self.bounds = Bounds((space.high - space.low) / 2, (space.high + space.low) / 2)
        self.parameters = parameters
        self.layout = Layout(work.BUFFER_SIZE, self.game.observation, len(space.low))
        self.steps_before = min(parameters.steps, parameters.learning_starts + 1)
        self.updates = parameters.steps - self.steps_before

    def numbers(self) -> Numbers:
        """The arguments that both programs take along."""
        return self.game.numbers()

    def begin(self, seed: Array, generator: Generator, numbers: Numbers) -> tuple[Learner, State]:
        """The first weights, and the first episode."""
        key, of_actor, *of_critics = jax.random.split(jax.random.key(seed), 4)
        critics: Weights = {}
        for of_critic, name in zip(of_critics, work.CRITICS, strict=True):
            inputs = self.layout.observation + self.layout.action
            critics |= named(name, make_critic(of_critic, inputs, self.parameters.hidden))
        actor = make_actor(of_actor, self.layout.observation, self.parameters.hidden, self.layout.action)
        learner = make_learner(actor, critics, jax.tree.map(jnp.copy, critics), jnp.zeros(1, jnp.float32))
        return learner, State(key, jnp.int32(0), self.game.begin(generator, numbers), self.layout.empty())

    def train(
        self, begun: tuple[Learner, State], numbers: Numbers
    ) -> tuple[tuple[Learner, State], tuple[tuple[Played, Played], Learnt]]:
        """The training loop."""
        learner, state = begun
        of_actions, of_noise, of_updates = jax.random.split(state.key, 3)
        shape = (self.steps_before, self.layout.action)
        random_actions = jax.random.uniform(of_actions, shape, jnp.float32, self.low, self.high)
        noise = jax.random.normal(of_noise, shape, jnp.float32)

        def wait(state: State, draws: tuple[Array, Array]) -> tuple[State, Played]:
            random_action, noise = draws
            action = lax.cond(
                state.step < self.parameters.learning_starts,
                lambda: random_action,
                lambda: self.act(learner.actor, state, noise),
            )
            return self.step(state, action, numbers)

        def learn(
            carry: tuple[Learner, State], key: Array
        ) -> tuple[tuple[Learner, State], tuple[Played, Learnt]]:
            learner, state = carry
            of_rows, of_action, of_noise = jax.random.split(key, 3)
            noise = jax.random.normal(of_action, (self.layout.action,), jnp.float32)
            state, played = self.step(state, self.act(learner.actor, state, noise), numbers)
            step, rows = state.step - 1, self.layout.count(state.step)
            chosen = jax.random.randint(of_rows, (self.parameters.batch,), 0, rows, jnp.int32)
            of_policy = step % work.POLICY_FREQUENCY == 0
            learner = self.update(learner, self.layout.batch(state.ring.rows[chosen]), of_noise, of_policy)
            return (learner, state), (played, Learnt(step, rows, of_policy))

        state, before = lax.scan(wait, state, (random_actions, noise))
        keys = jax.random.split(of_updates, self.updates)
        (learner, state), (after, learnt) = lax.scan(learn, (learner, state), keys)
        return (learner, state), ((before, after), learnt)

    def act(self, actor: Weights, state: State, noise: Array) -> Array:
        """The actor's action (actions,)."""
        return sample(actor, self.bounds, self.game.observe(state.play), noise)[0]

    def step(self, state: State, action: Array, numbers: Numbers) -> tuple[State, Played]:
        """Act and remember."""
        observation = self.game.observe(state.play)
        play, seen = self.game.advance(state.play, action, numbers)
        ring = self.layout.add(state.ring, state.step, observation, action, seen)
        return State(state.key, state.step + 1, play, ring), Played(action, seen.ended, seen.total)

    def update(self, learner: Learner, batch: Batch, key: Array, of_policy: Array) -> Learner:
        """One update of the critics, at every second step as many of actor and temperature, and one of the targets."""
        of_critics, of_rounds = jax.random.split(key)
        shape = (self.parameters.batch, self.layout.action)
        following = jax.random.normal(of_critics, shape, jnp.float32)
        learner, _, _ = update_critics(learner, self.bounds, batch, following)

        def rounds(learner: Learner) -> Learner:
            # Drawn here: an update without these rounds needs no noise for them.
            noises = jax.random.normal(of_rounds, (work.POLICY_FREQUENCY, 2, *shape), jnp.float32)
            for noise, fresh in noises:
                learner, _ = update_policy(learner, self.bounds, batch.observations, noise, fresh)
            return learner

        return move_targets(lax.cond(of_policy, rounds, lambda learner: learner, learner))


@cache
def compiled(parameters: work.Parameters) -> tuple[Course, programs_jax.Programs]:
    """The training of a case, and its programs."""
    course = Course(parameters)
    arguments = (np.uint32(0), seeded(0), course.numbers())
    return course, programs_jax.compiled(course.begin, course.train, *arguments)


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train an actor."""
    course, programs = compiled(parameters)
    begun = jax.block_until_ready(programs.begin(np.uint32(seed), seeded(seed), programs.numbers))
    # The targets begin as the critics.
    first_weights = in_numpy(named("actor", begun[0].actor) | begun[0].critics)

    started = time.perf_counter()
    done = jax.block_until_ready(programs.train(begun, programs.numbers))
    ended = time.perf_counter()
    (learner, state), kept = done
    weights = in_numpy(weights_of(learner))
    played, learnt = jax.tree.map(np.asarray, kept)
    actions, ends, totals = (np.concatenate(column)[:, None] for column in zip(*played, strict=True))
    updates = len(learnt.steps)
    rounds = np.repeat(learnt.steps[learnt.of_policy], work.POLICY_FREQUENCY)
    trace = {
        "update_steps": learnt.steps.astype(np.int64),
        "policy_steps": rounds.astype(np.int64),
        "target_steps": learnt.steps.astype(np.int64),
        "buffer_rows": learnt.buffer_rows.astype(np.int64),
        "batch_rows": np.full(updates, parameters.batch),
        "buffer_capacity": np.array([len(state.ring.rows)]),
        "hidden": np.array([len(weights[f"{name}.weight"]) for name in HIDDEN_LAYERS]),
        "truncations_stored_as_ends": np.array([state.ring.ends], np.int64),
        "last_observation_error": np.array([state.ring.error]),
    }
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=int(state.step),
        gradient_steps=int(learner.critics_adam.steps),
        episodes=programs_jax.episodes(ends, totals),
        weights=weights,
        trace=in_numpy(trace) | initial_bounds(first_weights),
        logs=programs_jax.logs(course.game.space, actions, ends, seed),
    )


def weights_of(learner: Learner) -> Weights:
    """All weights under PyTorch's names."""
    targets = {name.replace(".", "_target.", 1): each for name, each in learner.targets.items()}
    return named("actor", learner.actor) | learner.critics | targets | {"log_alpha": learner.log_alpha}


def given_learner(given: Mapping[str, Any]) -> Learner:
    """All networks with the input file's weights, before their first update."""
    arrays = in_jax(given)

    def network(name: str) -> Weights:
        return {
            key.removeprefix(f"{name}."): each for key, each in arrays.items() if key.startswith(f"{name}.")
        }

    def both(suffix: str) -> Weights:
        one, other = (named(name, network(f"{name}{suffix}")) for name in work.CRITICS)
        return one | other

    return make_learner(network("actor"), both(""), both("_target"), arrays["log_alpha"])


def given_bounds(given: Mapping[str, Any]) -> Bounds:
    """What the input file's actions are scaled by."""
    actions = given["actions"].shape[-1]
    return Bounds(np.full(actions, work.PARITY_SCALE, np.float32), np.zeros(actions, np.float32))


def given_batches(given: Mapping[str, Any]) -> Batch:
    """All minibatches of the input file, the first axis theirs."""
    return Batch(**in_jax({name: given[name] for name in Batch._fields}))


def parity(given: Mapping[str, NDArray[Any]], updates: int) -> dict[str, NDArray[Any]]:
    """As the reference's, without `exact.*`."""
    arrays, learner, bounds, batches = (
        in_jax(given),
        given_learner(given),
        given_bounds(given),
        given_batches(given),
    )
    critics_update, policy_update = (
        jax.jit(lambda learner, *data, update=each: update(learner, bounds, *data))
        for each in (update_critics, update_policy)
    )
    targets_update = jax.jit(move_targets)
    result: Weights = {}
    for index in range(updates):
        batch = Batch(*(each[index] for each in batches))
        learner, loss, gradients = critics_update(learner, batch, arrays["noise.next"][index])
        found = {"qf_loss": loss} | named("gradient", gradients)
        for turn in range(work.POLICY_FREQUENCY if index % work.POLICY_FREQUENCY == 0 else 0):
            noise = (arrays[f"noise.{name}"][index, turn] for name in ("policy", "alpha"))
            learner, one = policy_update(learner, batch.observations, *noise)
            if turn == 0:
                found |= {"actor_loss": one.actor_loss, "alpha_loss": one.alpha_loss, "alpha": one.alpha}
                found |= named("gradient.actor", one.actor_gradients)
                found |= {"gradient.log_alpha": one.alpha_gradient}
        learner = targets_update(learner)
        if index == 0:
            result = found | named("parameter", weights_of(learner))
    return in_numpy(result | named("after", weights_of(learner)))


if __name__ == "__main__":
    programs_jax.main("sac_jax", __doc__, work, programs_jax.Way(compiled, train, parity), FIRST_LINE)
