"""`dqn` by the Rust agent in the real Gymnasium: what stepping a Python environment from Rust costs.

The agent, its random numbers, the lines on stdout and the files are those of `torchforge dqn`, and so are the
episodes to the byte, because the environments are. Gymnasium's checker of environments, which does nothing after the
first step, is left out.
"""

# ruff: noqa: E402 - the clock is read before the imports that take time.

import time

FIRST_LINE = time.perf_counter()

import sys
from typing import Any

import gymnasium
import torchforge

from baselines.benchmarks import unchecked
from baselines.contract import protocol


def make(name: str) -> gymnasium.Env[Any, Any]:
    """The environment without Gymnasium's checks of its use. The limit of an episode's steps stays."""
    return unchecked.maker(name)()


if __name__ == "__main__":
    # The agent reads the words itself, and would tell of the program torchforge.
    if {"-h", "--help"} & {*sys.argv[1:]}:
        protocol.parser(__doc__).parse_args(["--help"])
    protocol.check_instructions()
    age = protocol.seconds_since_process_start()
    seconds = time.perf_counter() - FIRST_LINE if age is None else age
    sys.exit(torchforge.train_in(make, ["dqn", *sys.argv[1:]], seconds))
