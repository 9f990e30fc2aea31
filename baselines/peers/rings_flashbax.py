"""What the programs of Flashbax 0.1.3 share: threads, when a call is complete, the layout of an item and keys of draws.

A call returns when its work is done (`threads_jax.py`). Otherwise calls would queue and run after the clock.

An item is one row that holds all numbers of a transition. A tree of six arrays took at least half as long again in
`buffer-push` and `buffer-sample`, because each array costs time on its way out of a program. What learns splits the row
within its own program, as `ring_jax.py` does.
"""

from typing import Any

import jax
import numpy as np
from flashbax.buffers.trajectory_buffer import TrajectoryBufferState
from jax import Array

from baselines.inputs.transitions import Fields, Values
from baselines.peers import threads_jax

threads_jax.hold()

# A number of Python's is an int32 in a program.
SEEDS = 2**31
# What a state has. A tuple of it crosses into a program faster than Flashbax's class.
_PARTS = ("experience", "current_index", "is_full")


def key(seed: Array) -> Array:
    """The key of a draw. XLA's generator (`rbg`) took less time than JAX's default in every case."""
    return jax.random.key(seed, impl="rbg")


def rows_of(fields: Fields) -> Values:
    """Transitions as rows (n, columns)."""
    return np.concatenate([field.reshape(len(field), -1) for field in fields], axis=1)


def fields_of(rows: Values, width: int) -> Fields:
    """Views of rows (..., columns), whose observations have so many values."""
    action = 2 * width
    return Fields(
        rows[..., :width],
        rows[..., width:action],
        rows[..., action : action + 1],
        *(rows[..., column] for column in range(action + 1, action + 4)),
    )


def filled(ring: Any, fields: Fields) -> Any:
    """The state of a ring that takes sequences, with these transitions."""
    rows = rows_of(fields)
    return jax.jit(ring.add, donate_argnums=0)(ring.init(rows[0]), rows)


def parts_of(state: Any) -> Any:
    """A state as a tuple."""
    return tuple(getattr(state, name) for name in _PARTS)


def state_of(parts: Any) -> Any:
    """The state that such a tuple is of."""
    return TrajectoryBufferState(**dict(zip(_PARTS, parts, strict=True)))
