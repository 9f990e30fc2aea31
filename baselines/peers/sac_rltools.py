"""SAC by RLtools 2.2.1, a C++ library: the benchmark `sac` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`. RLtools takes all sizes from the compiler, so
`docker/rltools.sh` compiles `sac_rltools.cpp` for each case. In `sac-small` it is RLtools' own example, with
all constants of RLtools' zoo.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

import ctypes
import importlib.util
from ctypes import POINTER, c_double, c_float, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import sac as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog
from baselines.contract import protocol
from baselines.peers import serving

ENVIRONMENT = "Pendulum-v1"
# Of one episode, none of which terminates.
STEPS = 200
OBSERVATION, ACTION = 3, 1

Number = TypeVar("Number", bound=np.generic)


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent; a gradient step is one of the critics'."""
    if parameters.environment != ENVIRONMENT:
        protocol.refuse(f"this program has no {parameters.environment}; name {ENVIRONMENT}")
    library = _library(parameters)
    agent = library.training_new(seed, _pointer(_generator(seed), c_uint64), parameters.steps)
    started = time.perf_counter()
    library.training_run(agent, parameters.steps)
    ended = time.perf_counter()

    torques = np.empty(parameters.steps, np.float32)
    rewards = np.empty(parameters.steps, np.float64)
    resets = np.empty(library.training_resets(agent), np.int64)
    library.training_journal(
        agent, _pointer(torques, c_float), _pointer(rewards, c_double), _pointer(resets, c_int64)
    )
    trained = training.Trained(
        started=started,
        ended=ended,
        environment_steps=len(torques),
        gradient_steps=library.training_updates(agent),
        episodes=_episodes(rewards, resets),
        weights=_actor(library, agent, parameters.hidden),
        trace={},
        logs=[ActionLog.of(gym.make(ENVIRONMENT).action_space, torques[:, None], resets[1:].tolist(), seed)],
    )
    library.training_free(agent)
    return trained


def _library(parameters: work.Parameters) -> ctypes.CDLL:
    """The program of these sizes, and the types of its functions."""
    sizes = f"{parameters.hidden}-{parameters.batch}-{parameters.learning_starts}"
    # Importing the package would look for a compiler.
    package = importlib.util.find_spec("rltools")
    if package is None or package.origin is None:
        protocol.refuse("the package rltools is not installed; run it in the image of the peers")
    path = Path(package.origin).with_name(f"sac-{sizes}.so")
    if not path.exists():
        protocol.refuse(
            f"there is no {path}: nothing was compiled for this case; add its sizes to docker/rltools.sh"
        )
    library = ctypes.CDLL(str(path))
    numbers, floats = POINTER(c_int64), POINTER(c_float)
    functions: dict[str, tuple[Any, list[Any]]] = {
        "new": (c_void_p, [c_uint64, POINTER(c_uint64), c_int64]),
        "run": (None, [c_void_p, c_int64]),
        "updates": (c_int64, [c_void_p]),
        "resets": (c_int64, [c_void_p]),
        "journal": (None, [c_void_p, floats, POINTER(c_double), numbers]),
        "actor": (None, [c_void_p, floats]),
        "free": (None, [c_void_p]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, f"training_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _generator(seed: int) -> NDArray[np.uint64]:
    """NumPy's generator of an environment that is reset with this seed: both halves of state and increment."""
    state = np.random.PCG64(seed).state["state"]
    return np.array([half for name in ("state", "inc") for half in divmod(state[name], 2**64)], np.uint64)


def _pointer(array: NDArray[Number], kind: Any) -> Any:
    return array.ctypes.data_as(POINTER(kind))


def _episodes(rewards: NDArray[np.float64], resets: NDArray[np.int64]) -> list[training.Episode]:
    """The episodes that were played to their end, with rewards added one after the other."""
    return [
        training.Episode(int(first) + STEPS - 1, STEPS, float(np.cumsum(rewards[first : first + STEPS])[-1]))
        for first, following in zip(resets, [*resets[1:], len(rewards)], strict=True)
        if following - first == STEPS
    ]


def _actor(library: ctypes.CDLL, agent: int, hidden: int) -> dict[str, NDArray[np.float32]]:
    """The actor's weights under the reference's names."""
    shapes = {"fc1": (hidden, OBSERVATION), "fc2": (hidden, hidden), "head": (2 * ACTION, hidden)}
    numbers = np.empty(sum(outputs * (inputs + 1) for outputs, inputs in shapes.values()), np.float32)
    library.training_actor(agent, _pointer(numbers, c_float))
    weights: dict[str, NDArray[np.float32]] = {}
    for name, (outputs, inputs) in shapes.items():
        weight, bias, numbers = np.split(numbers, [outputs * inputs, outputs * (inputs + 1)])
        weights |= {f"{name}.weight": weight.reshape(outputs, inputs), f"{name}.bias": bias}
    # Mean and deviation come from one layer.
    for part in ("weight", "bias"):
        mean, deviation = np.split(weights.pop(f"head.{part}"), [ACTION])
        weights |= {f"fc_mean.{part}": mean, f"fc_logstd.{part}": deviation}
    return weights


if __name__ == "__main__":
    serving.main("sac_rltools", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE)
