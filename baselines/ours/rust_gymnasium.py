"""What the Rust agents share that train in the real Gymnasium: DQN, PPO and SAC.

An agent's random numbers, lines on stdout and files are those of the command `torchforge`. So are its episodes to the
byte, because the environments are. PPO's environments are stepped one after the other. Gymnasium's checker of
environments, which does nothing after the first step, is left out.
"""

import sys
import time
from typing import Any

import gymnasium
import torchforge

from baselines.benchmarks import unchecked
from baselines.contract import protocol


def make(name: str) -> gymnasium.Env[Any, Any]:
    """The environment without Gymnasium's checks of its use. The limit of an episode's steps stays."""
    return unchecked.maker(name)()


def train(algorithm: str, description: str | None, first_line: float) -> int:
    """Train as this process's arguments say.

    Args:
        algorithm: dqn, ppo or sac.
        description: what `--help` says of the program.
        first_line: when the program's first line ran (`time.perf_counter`), for where the system does not tell when the
            process began.

    Returns:
        The exit code of the process.
    """
    # The agent reads the words itself, and would tell of the program torchforge.
    if {"-h", "--help"} & {*sys.argv[1:]}:
        protocol.parser(description).parse_args(["--help"])
    protocol.check_instructions()
    age = protocol.seconds_since_process_start()
    return torchforge.train_in(
        make, [algorithm, *sys.argv[1:]], time.perf_counter() - first_line if age is None else age
    )
