"""What the trainings in JAX share of networks: PyTorch's first weights, its names and its Adam, in plain functions."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

# By PyTorch's names; a weight is (outputs, inputs), as PyTorch's is.
Weights = dict[str, Array]
Tree = TypeVar("Tree")

_DECAY, _SQUARES_DECAY = 0.9, 0.999


class Adam(NamedTuple):
    """What Adam remembers: how many steps it took, and both moments of each weight."""

    steps: Array
    first: Any
    second: Any


def linear(key: Array, name: str, inputs: int, outputs: int) -> Weights:
    """A layer as PyTorch initialises it: uniform within 1 / sqrt(inputs), bias included."""
    bound = inputs**-0.5
    of_weight, of_bias = jax.random.split(key)
    return {
        f"{name}.weight": jax.random.uniform(of_weight, (outputs, inputs), jnp.float32, -bound, bound),
        f"{name}.bias": jax.random.uniform(of_bias, (outputs,), jnp.float32, -bound, bound),
    }


def apply(weights: Weights, name: str, rows: Array) -> Array:
    """A layer's outputs for rows (..., inputs)."""
    return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def fresh_adam(weights: Any) -> Adam:
    """Adam before its first step."""
    nothing = jax.tree.map(jnp.zeros_like, weights)
    return Adam(jnp.int32(0), nothing, jax.tree.map(jnp.copy, nothing))


def adam_step(
    weights: Tree, gradients: Tree, adam: Adam, rate: float | Array, epsilon: float = 1e-8
) -> tuple[Tree, Adam]:
    """One step of `torch.optim.Adam`."""
    steps = adam.steps + 1
    # In f64, as Python computes them: in f32 the first corrections would lose half of their digits.
    correction, squares_correction = (
        1.0 - jnp.float64(decay) ** steps.astype(jnp.float64) for decay in (_DECAY, _SQUARES_DECAY)
    )
    size = (rate / correction).astype(jnp.float32)
    # A product takes less time than a division, and one number serves all weights.
    over_root = (1.0 / jnp.sqrt(squares_correction)).astype(jnp.float32)

    def first(moment: Array, gradient: Array) -> Array:
        return moment + (gradient - moment) * np.float32(1 - _DECAY)

    def second(moment: Array, gradient: Array) -> Array:
        return moment * np.float32(_SQUARES_DECAY) + gradient * gradient * np.float32(1 - _SQUARES_DECAY)

    def moved(weight: Array, one: Array, other: Array) -> Array:
        return weight - size * (one / (jnp.sqrt(other) * over_root + np.float32(epsilon)))

    firsts = jax.tree.map(first, adam.first, gradients)
    seconds = jax.tree.map(second, adam.second, gradients)
    return jax.tree.map(moved, weights, firsts, seconds), Adam(steps, firsts, seconds)


def in_jax(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """NumPy's arrays as JAX's."""
    return {name: jnp.asarray(array) for name, array in arrays.items()}


def in_numpy(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """JAX's arrays as NumPy's: copies, because a program may take an array's place in memory."""
    return {name: np.array(array) for name, array in arrays.items()}


def initial_bounds(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """How far first weights (outputs, inputs) reach, times sqrt(inputs), for the trace."""
    return {
        f"initial.{name}.bound": np.array([np.abs(weight).max() * weight.shape[1] ** 0.5], np.float32)
        for name, weight in weights.items()
        if name.endswith("weight")
    }


def named(prefix: str, arrays: Mapping[str, Array]) -> Weights:
    """The same arrays with a prefix to their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}
