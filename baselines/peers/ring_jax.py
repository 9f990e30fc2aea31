"""The replay buffer of DQN and SAC in JAX: the latest transitions, a row each."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from baselines.peers.environments_jax import Step


class Batch(NamedTuple):
    """A minibatch, f32: observations (n, ...) and actions (n, ...), rewards and terminations (n,)."""

    observations: Array
    next_observations: Array
    actions: Array
    rewards: Array
    terminations: Array


class Ring(NamedTuple):
    """The rows (size, columns), and what they held of steps at which an episode was cut off."""

    rows: Array
    ends: Array
    """How many of those steps counted as terminations."""
    error: Array
    """How far their next observations were from the episodes' last ones."""


class Layout(NamedTuple):
    """How many rows a ring has, and how many numbers an observation and an action."""

    size: int
    observation: int
    action: int

    def empty(self) -> Ring:
        """A ring of zeros."""
        columns = 2 * self.observation + self.action + 2
        return Ring(jnp.zeros((self.size, columns), jnp.float32), jnp.int32(0), jnp.float32(0))

    def add(self, ring: Ring, step: Array, observation: Array, action: Array, seen: Step) -> Ring:
        """Keep the transition of a step, in place of the oldest where the ring is full."""
        parts = (observation, seen.observation, action, seen.reward, seen.terminated)
        row = jnp.concatenate([jnp.atleast_1d(part).astype(jnp.float32) for part in parts])
        place = (step % self.size, jnp.int32(0))
        rows = lax.dynamic_update_slice(ring.rows, row[None], place)
        stored = self.batch(lax.dynamic_slice(rows, place, (1, len(row))))
        cut_off = seen.ended & ~seen.terminated
        error = jnp.abs(stored.next_observations - seen.observation).max()
        return Ring(
            rows=rows,
            ends=ring.ends + (cut_off & (stored.terminations[0] != 0)),
            error=jnp.maximum(ring.error, jnp.where(cut_off, error, 0)),
        )

    def count(self, steps: Array) -> Array:
        """How many rows are in use after so many steps."""
        return jnp.minimum(steps, self.size)

    def batch(self, rows: Array) -> Batch:
        """Some rows as what they hold."""
        ends = (self.observation, 2 * self.observation, 2 * self.observation + self.action)
        observations, next_observations, actions, rest = jnp.split(rows, ends, axis=1)
        return Batch(observations, next_observations, actions, rest[:, 0], rest[:, 1])
