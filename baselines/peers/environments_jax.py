"""Gymnasium's CartPole-v1 and Pendulum-v1 in JAX, to the bit: the same seed and actions give the same episodes.

States are f64, as Gymnasium's are, and first states come from NumPy's generator. XLA would round otherwise in two ways.
It fuses a product and a sum into one operation, so `rounded` keeps them apart. It turns a division by a constant into a
product, so all numbers of an environment are arguments of the program.
"""

from collections.abc import Callable, Mapping
from math import pi
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from baselines.contract import protocol

# What a step computes with, by name.
Numbers = Mapping[str, Any]
State = tuple[Array, ...]

# NumPy's multiplier of PCG64, upper and lower half.
_MULTIPLIER = (0x2360ED051FC65DA4, 0x4385DF649FCCF645)
_HALF = 32
_LOWER_HALF = 0xFFFFFFFF
_BITS_OF_A_FRACTION = 53

# CartPole: where an episode ends, in metres and radians.
_POSITION_LIMIT = 2.4
_ANGLE_LIMIT = 12 * 2 * pi / 360
# Pendulum: newton metres, radians per second.
_MAX_TORQUE = 2.0
_MAX_SPEED = 8.0


class Environment(NamedTuple):
    """An environment as its functions and numbers."""

    observation: int
    """Numbers in one observation."""
    first: tuple[tuple[float, float], ...]
    """Between which numbers each number of a first state is drawn."""
    constants: Numbers
    step: Callable[[State, Array, Numbers], tuple[State, Array, Array]]
    """From a state and an action: the next state, the reward (f64) and whether the episode terminated."""
    observe: Callable[[State], Array]
    """What is seen of a state, f32."""


class Generator(NamedTuple):
    """NumPy's PCG64: upper and lower half of its state and of its increment, u64 each."""

    high: Any
    low: Any
    increment_high: Any
    increment_low: Any


class Play(NamedTuple):
    """An episode under way."""

    generator: Generator
    state: State
    length: Array
    total: Array
    """The rewards so far, f64."""


class Step(NamedTuple):
    """What came of a step. Where it ended the episode, the observation is that episode's last."""

    observation: Array
    reward: Array
    terminated: Array
    ended: Array
    """Whether the episode terminated or was cut off."""
    total: Array
    """The episode's rewards so far."""


def _cart_pole(state: State, action: Array, numbers: Numbers) -> tuple[State, Array, Array]:
    """After Gymnasium's `cartpole.py`."""
    x, x_dot, theta, theta_dot = state
    sin, cos = jnp.sin(theta), jnp.cos(theta)
    force = jnp.where(action == 1, numbers["force"], -numbers["force"])
    turning = numbers["pole_mass_length"] * (theta_dot * theta_dot) * sin
    temp = (force + rounded(turning, numbers)) / numbers["total_mass"]
    theta_acc = (rounded(numbers["gravity"] * sin, numbers) - rounded(cos * temp, numbers)) / (
        numbers["length"]
        * (numbers["four_thirds"] - numbers["pole_mass"] * (cos * cos) / numbers["total_mass"])
    )
    x_acc = temp - numbers["pole_mass_length"] * theta_acc * cos / numbers["total_mass"]
    moved = (
        number + rounded(numbers["tau"] * slope, numbers)
        for number, slope in zip(state, (x_dot, x_acc, theta_dot, theta_acc), strict=True)
    )
    x, x_dot, theta, theta_dot = moved
    terminated = (jnp.abs(x) > _POSITION_LIMIT) | (jnp.abs(theta) > _ANGLE_LIMIT)
    return (x, x_dot, theta, theta_dot), jnp.ones_like(x), terminated


def _pendulum(state: State, action: Array, numbers: Numbers) -> tuple[State, Array, Array]:
    """After Gymnasium's `pendulum.py`. The torque is f32, and so is all that NumPy computes of it alone."""
    angle, speed = state
    torque = jnp.clip(action[0], -_MAX_TORQUE, _MAX_TORQUE)
    effort = np.float32(0.001) * (torque * torque)
    from_upright = jnp.mod(angle + pi, 2 * pi) - pi
    cost = from_upright * from_upright + 0.1 * (speed * speed) + effort
    pull = rounded(numbers["gravity_factor"] * jnp.sin(angle), numbers)
    acceleration = pull + np.float32(3.0) * torque
    speed = jnp.clip(speed + rounded(acceleration * numbers["dt"], numbers), -_MAX_SPEED, _MAX_SPEED)
    angle = angle + rounded(speed * numbers["dt"], numbers)
    return (angle, speed), -cost, jnp.zeros_like(angle, jnp.bool_)


_CART_POLE = Environment(
    observation=4,
    first=((-0.05, 0.05),) * 4,
    constants={
        "force": 10.0,
        "gravity": 9.8,
        "length": 0.5,
        "pole_mass": 0.1,
        "pole_mass_length": 0.1 * 0.5,
        "total_mass": 0.1 + 1.0,
        "four_thirds": 4.0 / 3.0,
        "tau": 0.02,
    },
    step=_cart_pole,
    observe=lambda state: jnp.stack(state).astype(jnp.float32),
)
_PENDULUM = Environment(
    observation=3,
    first=((-pi, pi), (-1.0, 1.0)),
    constants={"gravity_factor": 3 * 10.0 / (2 * 1.0), "dt": 0.05},
    step=_pendulum,
    observe=lambda state: jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1]]).astype(jnp.float32),
)
_ENVIRONMENTS = {"CartPole-v1": _CART_POLE, "Pendulum-v1": _PENDULUM}


class Game:
    """An environment under Gymnasium's name, with that name's limit of steps."""

    def __init__(self, name: str) -> None:
        self.space = gym.make(name).action_space
        limit = gym.spec(name).max_episode_steps
        if name not in _ENVIRONMENTS or limit is None:
            protocol.refuse(f"there is no {name} in JAX; name one of {', '.join(_ENVIRONMENTS)}")
        self._limit = limit
        self._environment = _ENVIRONMENTS[name]
        self.observation = self._environment.observation

    def numbers(self) -> Numbers:
        """The arguments that every function of a program takes along."""
        constants = {name: np.float64(value) for name, value in self._environment.constants.items()}
        return {**constants, "unit": np.float64(2.0**-_BITS_OF_A_FRACTION), "zero": np.int64(0)}

    def begin(self, generator: Generator, numbers: Numbers) -> Play:
        """The first episode."""
        generator, state = self._first(generator, numbers)
        return Play(generator, state, jnp.int32(0), jnp.float64(0))

    def observe(self, play: Play) -> Array:
        """What is seen of an episode under way, f32."""
        return self._environment.observe(play.state)

    def advance(self, play: Play, action: Array, numbers: Numbers) -> tuple[Play, Step]:
        """One step. The next episode begins in the step that ends one."""
        state, reward, terminated = self._environment.step(play.state, action, numbers)
        length, total = play.length + 1, play.total + reward
        ended = terminated | (length >= self._limit)
        generator, first = self._first(play.generator, numbers)
        fresh = Play(generator, first, jnp.zeros_like(length), jnp.zeros_like(total))
        old = Play(play.generator, state, length, total)
        following = jax.tree.map(lambda one, other: jnp.where(ended, one, other), fresh, old)
        return following, Step(self._environment.observe(state), reward, terminated, ended, total)

    def _first(self, generator: Generator, numbers: Numbers) -> tuple[Generator, State]:
        """A first state, as `Generator.uniform` draws it."""
        state = []
        for low, high in self._environment.first:
            generator, word = _next_word(generator)
            fraction = (word >> np.uint64(64 - _BITS_OF_A_FRACTION)).astype(jnp.float64) * numbers["unit"]
            state.append(low + rounded((high - low) * fraction, numbers))
        return generator, tuple(state)


def seeded(seed: int) -> Generator:
    """The generator of an environment that is reset with this seed."""
    state = np.random.PCG64(seed).state["state"]
    halves = (half for number in (state["state"], state["inc"]) for half in divmod(number, 2**64))
    return Generator(*map(np.uint64, halves))


def rounded(product: Array, numbers: Numbers) -> Array:
    """A product (f64) as it is: what is added to it is added after its rounding."""
    bits = lax.bitcast_convert_type(product, jnp.int64)
    # XLA does not know that this is 0.
    return lax.bitcast_convert_type(bits ^ numbers["zero"], jnp.float64)


def _next_word(generator: Generator) -> tuple[Generator, Array]:
    """The generator after one step, and its number, u64."""
    high, low, increment_high, increment_low = generator
    factor_high, factor_low = map(np.uint64, _MULTIPLIER)
    product_low = low * factor_low
    product_high = _upper_half(low, factor_low) + low * factor_high + high * factor_low
    low = product_low + increment_low
    high = product_high + increment_high + (low < product_low).astype(jnp.uint64)
    word, turns = high ^ low, high >> np.uint64(58)
    word = (word >> turns) | (word << ((np.uint64(64) - turns) & np.uint64(63)))
    return Generator(high, low, increment_high, increment_low), word


def _upper_half(one: Array, other: np.uint64) -> Array:
    """Of the product of two u64."""
    half, mask = np.uint64(_HALF), np.uint64(_LOWER_HALF)
    one_low, one_high, other_low, other_high = one & mask, one >> half, other & mask, other >> half
    cross, crossed = one_low * other_high, one_high * other_low
    carried = (one_low * other_low >> half) + (cross & mask) + (crossed & mask)
    return one_high * other_high + (cross >> half) + (crossed >> half) + (carried >> half)
