"""`env-vector` by Gymnasium 1.2.3 at its best, in processes, or vectorised in NumPy.

    python3 -m baselines.tuned.env_vector sync|async|vectorised --case ID --parameters JSON ...

`sync` and `async` leave out what checks their use, and hand out observations without a copy. `async` is a process for
each environment. `vectorised` is Gymnasium's own CartPole for all environments at once: one generator draws its resets,
and its episodes begin in the step after an end.
"""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from baselines.benchmarks import env_vector, unchecked
from baselines.contract import protocol
from baselines.references.env_vector import Vector

_ONE = unchecked.maker(env_vector.NAME)


def sync(count: int) -> SyncVectorEnv:
    """One environment after another, in this process."""
    return SyncVectorEnv([_ONE] * count, copy=False, autoreset_mode=AutoresetMode.SAME_STEP)


def in_processes(count: int) -> AsyncVectorEnv:
    """Observations come by shared memory. Processes are forked before any thread is started."""
    return AsyncVectorEnv(
        [_ONE] * count,
        shared_memory=True,
        copy=False,
        context="fork",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )


def vectorised(count: int) -> VectorEnv[Any, Any, Any]:
    """The registered vector entry point."""
    return gymnasium.make_vec(env_vector.NAME, num_envs=count, vectorization_mode="vector_entry_point")


KINDS: Mapping[str, Callable[[int], VectorEnv[Any, Any, Any]]] = {
    "sync": sync,
    "async": in_processes,
    "vectorised": vectorised,
}


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="which of Gymnasium's vectors")
    options = parser.parse_args()
    env_vector.run(options, lambda count: Vector(KINDS[options.kind](count)))


if __name__ == "__main__":
    main()
