"""`env-vector` by the environments in Rust as a Python user steps them: the module `torchforge`.

    python3 -m baselines.ours.env_vector_torchforge plain|gymnasium --case ID --parameters JSON ...

`plain` is the module's own vector, and `gymnasium` what `gymnasium.make_vec` makes of the registered name.
"""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import torchforge
import torchforge.envs
from gymnasium.vector import AutoresetMode

from baselines.benchmarks import env_vector
from baselines.contract import protocol
from baselines.references.env_vector import Vector


def plain(count: int) -> Any:
    """The module's own class, which has Gymnasium's interface."""
    return torchforge.make_vec(env_vector.NAME, count, "SameStep")


def registered(count: int) -> Any:
    """A `gymnasium.vector.VectorEnv`."""
    name = f"torchforge/{env_vector.NAME}"
    return gymnasium.make_vec(name, num_envs=count, autoreset_mode=AutoresetMode.SAME_STEP)


KINDS: Mapping[str, Callable[[int], Any]] = {"plain": plain, "gymnasium": registered}


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="which of the module's two vectors")
    options = parser.parse_args()
    env_vector.run(options, lambda count: Vector(KINDS[options.kind](count)))


if __name__ == "__main__":
    main()
