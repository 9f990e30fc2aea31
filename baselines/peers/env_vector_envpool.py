"""`env-vector` by EnvPool 1.2.7: CartPole in C++, in as many threads as the limits allow.

It draws resets with a generator of its own, and begins an episode in the step after an end.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from baselines.benchmarks import env_vector
from baselines.contract import protocol
from baselines.references.env_vector import Vector


def _make_gymnasium() -> Any:
    """Its own function. The package imports all its games, of which the image has none; a bare package imports none."""
    spec = importlib.util.find_spec("envpool")
    if spec is None:
        raise ModuleNotFoundError("No module named 'envpool'; install the group peers", name="envpool")
    sys.modules["envpool"] = importlib.util.module_from_spec(spec)
    importlib.import_module("envpool.classic_control.registration")
    return importlib.import_module("envpool.registration").make_gymnasium


make_gymnasium = _make_gymnasium()


class Pool:
    """A pool has its seed from the beginning, so each reset makes a pool.

    Attributes:
        step: the pool's own.
    """

    step: Callable[[Any], Any]

    def __init__(self, count: int) -> None:
        self._count = count

    def reset(self, *, seed: int) -> Any:
        """Begin an episode everywhere."""
        # More threads than environments would only wait.
        threads = min(protocol.threads(), self._count)
        pool = make_gymnasium(env_vector.NAME, num_envs=self._count, num_threads=threads, seed=seed)
        self.step = pool.step
        return pool.reset()


def make(count: int) -> Vector:
    """So many environments, which take actions of i32."""
    return Vector(Pool(count), np.int32)


if __name__ == "__main__":
    env_vector.run(protocol.parser(__doc__).parse_args(), make)
