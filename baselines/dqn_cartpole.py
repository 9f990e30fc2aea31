"""DQN (Mnih et al., 2015) on CartPole-v1: the reference of the benchmark `dqn`.

Our own code after the algorithm of CleanRL's dqn.py at commit fe8d8a0, faithful in every constant and in the
order of every random draw: with the same seed and the same PyTorch it plays CleanRL's episodes, one by one.
It leaves out CleanRL's logging (TensorBoard, prints) and, on top, counts and remembers the episodes. Nothing
of the work is done another way than there, acting with autograd on included.

By hand, from this directory:  uv run python dqn_cartpole.py [--seed 1] [--steps 500000]
"""

# ruff: noqa: E402 - the clock is read, and the path mended, before the imports that take seconds.

import json
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FIRST_LINE = time.perf_counter()

# Started by its path, a file sees its own directory and not the package that it belongs to.
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray
from safetensors.torch import load_file, save
from torch import Tensor, nn

from baselines import protocol

# As read from `time.perf_counter`: by the kernel's word, or the first line above where that is unknown.
AGE = protocol.seconds_since_process_start()
PROCESS_START = FIRST_LINE if AGE is None else time.perf_counter() - AGE

BY_HAND = {"environment": "CartPole-v1", "steps": 500_000, "learning_starts": 10_000, "train_frequency": 10}

LEARNING_RATE = 2.5e-4
BUFFER_SIZE = 10_000
GAMMA = 0.99
TAU = 1.0
TARGET_NETWORK_FREQUENCY = 500
BATCH_SIZE = 128
START_EPSILON = 1.0
END_EPSILON = 0.05
EXPLORATION_FRACTION = 0.5

# Asking the clock at every step would show in the figures; at every thousandth it does not.
STEPS_BETWEEN_PROGRESS = 1000


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The case: steps of the environment, and the steps at which gradient steps are taken."""

    environment: str
    steps: int
    learning_starts: int
    train_frequency: int

    def __post_init__(self) -> None:
        if min(self.steps, self.train_frequency) < 1 or self.learning_starts < 0:
            raise ValueError("'steps' and 'train_frequency' must be at least 1, 'learning_starts' at least 0")


# Observations, actions and flags as NumPy arrays with an axis of environments in front.
Environments = VectorEnv[Any, Any, Any]


class Batch(NamedTuple):
    """A minibatch: observations (n, 4) f32, actions (n, 1) i64, rewards and terminations (n, 1) f32."""

    observations: Tensor
    next_observations: Tensor
    actions: Tensor
    rewards: Tensor
    terminations: Tensor


class ReplayBuffer:
    """The latest transitions in a ring, sampled uniformly with replacement from NumPy's global generator.

    The second axis is that of the environments, of which there is one: sampling draws an index into it as
    well, and both draws are part of the random stream.
    """

    def __init__(self, size: int, observation_shape: tuple[int, ...]) -> None:
        self.observations = np.zeros((size, 1, *observation_shape), dtype=np.float32)
        self.next_observations = np.zeros((size, 1, *observation_shape), dtype=np.float32)
        self.actions = np.zeros((size, 1, 1), dtype=np.int64)
        self.rewards = np.zeros((size, 1), dtype=np.float32)
        self.terminations = np.zeros((size, 1), dtype=np.float32)
        self.position = 0
        self.full = False

    def add(
        self,
        observation: NDArray[np.float32],
        next_observation: NDArray[np.float32],
        action: NDArray[np.int64],
        reward: NDArray[np.float64],
        termination: NDArray[np.bool_],
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full."""
        self.observations[self.position] = observation
        self.next_observations[self.position] = next_observation
        self.actions[self.position] = action.reshape(1, 1)
        self.rewards[self.position] = reward
        self.terminations[self.position] = termination
        self.position += 1
        if self.position == len(self.observations):
            self.full = True
            self.position = 0

    def sample(self, batch_size: int) -> Batch:
        """A minibatch of copies."""
        rows = np.random.randint(0, len(self.observations) if self.full else self.position, size=batch_size)
        columns = np.random.randint(0, 1, size=batch_size)
        return Batch(
            observations=torch.tensor(self.observations[rows, columns]),
            next_observations=torch.tensor(self.next_observations[rows, columns]),
            actions=torch.tensor(self.actions[rows, columns]),
            rewards=torch.tensor(self.rewards[rows, columns].reshape(-1, 1)),
            terminations=torch.tensor(self.terminations[rows, columns].reshape(-1, 1)),
        )


class Episode(NamedTuple):
    """One finished episode: the step of the whole run at which it ended, its length and its return."""

    step: int
    length: int
    value: float


class Trained(NamedTuple):
    """What the training loop leaves behind; its start and end are readings of `time.perf_counter`."""

    started: float
    ended: float
    environment_steps: int
    gradient_steps: int
    episodes: list[Episode]


def make_environments(name: str, seed: int) -> Environments:
    """One environment as a vector of one, beginning the next episode in the step that ends the last."""

    def make() -> gym.Env[Any, Any]:
        environment = gym.wrappers.RecordEpisodeStatistics(gym.make(name))
        environment.action_space.seed(seed)
        return environment

    return SyncVectorEnv([make], autoreset_mode=AutoresetMode.SAME_STEP)


def observation_shape(environments: Environments) -> tuple[int, ...]:
    """The shape of one observation: (4,) on CartPole."""
    return tuple(environments.single_observation_space.shape or ())


def action_count(environments: Environments) -> int:
    """How many discrete actions there are."""
    space = environments.single_action_space
    if not isinstance(space, gym.spaces.Discrete):
        raise TypeError(f"DQN needs discrete actions, not {space}")
    return int(space.n)


def make_network(inputs: int, outputs: int) -> nn.Sequential:
    """The Q network: observations (n, inputs) to one value per action (n, outputs)."""
    return nn.Sequential(
        nn.Linear(inputs, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, outputs),
    )


def make_optimizer(online: nn.Sequential) -> torch.optim.Adam:
    """Adam with PyTorch's own defaults: betas 0.9 and 0.999, eps 1e-8."""
    return torch.optim.Adam(online.parameters(), lr=LEARNING_RATE)


def linear_schedule(start: float, end: float, duration: float, step: int) -> float:
    """Epsilon at a step: from start to end in a straight line over the duration, then end."""
    return max((end - start) / duration * step + start, end)


def update(online: nn.Sequential, target: nn.Sequential, optimizer: torch.optim.Adam, batch: Batch) -> Tensor:
    """One gradient step on the squared temporal-difference error; bootstrapping stops at termination only."""
    with torch.no_grad():
        next_values, _ = target(batch.next_observations).max(dim=1)
        wanted = batch.rewards.flatten() + GAMMA * next_values * (1 - batch.terminations.flatten())
    values = online(batch.observations).gather(1, batch.actions).squeeze()
    loss = nn.functional.mse_loss(wanted, values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def copy_weights(online: nn.Sequential, target: nn.Sequential) -> None:
    """Move the target network to the online one: a soft update whose tau of 1 makes it a hard copy."""
    for target_parameter, parameter in zip(target.parameters(), online.parameters(), strict=True):
        target_parameter.data.copy_(TAU * parameter.data + (1.0 - TAU) * target_parameter.data)


def train(
    environments: Environments,
    online: nn.Sequential,
    target: nn.Sequential,
    parameters: Parameters,
    seed: int,
) -> Trained:
    """Train the online network; every count is taken beside the call that it counts."""
    optimizer = make_optimizer(online)
    buffer = ReplayBuffer(BUFFER_SIZE, observation_shape(environments))
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    exploration = EXPLORATION_FRACTION * parameters.steps
    environment_steps = gradient_steps = 0
    episodes: list[Episode] = []

    started = time.perf_counter()
    observations, _ = environments.reset(seed=seed)
    for step in range(parameters.steps):
        # Act: at random with probability epsilon, else greedily.
        if random.random() < linear_schedule(START_EPSILON, END_EPSILON, exploration, step):
            actions = np.array([environments.single_action_space.sample()])
        else:
            actions = torch.argmax(online(torch.Tensor(observations)), dim=1).numpy()
        next_observations, rewards, terminations, truncations, infos = environments.step(actions)
        environment_steps += 1

        # Remember. After a truncation the environment has begun anew and keeps its last observation apart.
        if "final_info" in infos:
            finished = infos["final_info"]["episode"]
            episodes.append(Episode(step, int(finished["l"][0]), float(finished["r"][0])))
        real_next_observations = next_observations.copy()
        if truncations[0]:
            real_next_observations[0] = infos["final_obs"][0]
        buffer.add(observations, real_next_observations, actions, rewards, terminations)
        observations = next_observations

        # Learn.
        if step > parameters.learning_starts:
            if step % parameters.train_frequency == 0:
                update(online, target, optimizer, buffer.sample(BATCH_SIZE))
                gradient_steps += 1
            if step % TARGET_NETWORK_FREQUENCY == 0:
                copy_weights(online, target)

        if step % STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
    return Trained(started, time.perf_counter(), environment_steps, gradient_steps, episodes)


def parity_update(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One update from given weights and a given minibatch, through the very function that training uses.

    Args:
        given: `online.*` and `target.*` weights under PyTorch's names, and the minibatch's five tensors.

    Returns:
        `loss` (), `gradient.*` and, after one Adam step from fresh moments, `parameter.*`.
    """
    networks = {}
    for name in ("online", "target"):
        weights = {
            key.removeprefix(f"{name}."): value for key, value in given.items() if key.startswith(f"{name}.")
        }
        networks[name] = make_network(weights["0.weight"].shape[1], weights["4.weight"].shape[0])
        networks[name].load_state_dict(weights)
    online = networks["online"]
    batch = Batch(
        observations=given["observations"],
        next_observations=given["next_observations"],
        actions=given["actions"].reshape(-1, 1),
        rewards=given["rewards"].reshape(-1, 1),
        terminations=given["terminations"].reshape(-1, 1),
    )
    loss = update(online, networks["target"], make_optimizer(online), batch)
    result = {"loss": loss.detach()}
    for name, parameter in online.named_parameters():
        result[f"gradient.{name}"] = parameter.grad
        result[f"parameter.{name}"] = parameter.detach()
    return result


def run(
    case: protocol.Case, parameters: Parameters, seed: int, given: Path | None, output: Path | None
) -> dict[str, Any]:
    """Seed, set up, train, and write the outputs.

    Args:
        case: what the measurement is for.
        parameters: the case's parameters.
        seed: of `random`, NumPy, PyTorch, the environment and its action space.
        given: the input file of the parity update; None leaves that update out.
        output: the directory for the output files; None writes none.

    Returns:
        The measurement. Wall time runs from the start of the process to the end of the training loop.
    """
    torch.set_num_threads(protocol.threads())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    environments = make_environments(parameters.environment, seed)
    sizes = (*observation_shape(environments), action_count(environments))
    online = make_network(*sizes)
    target = make_network(*sizes)
    target.load_state_dict(online.state_dict())
    trained = train(environments, online, target, parameters, seed)
    environments.close()
    event = protocol.measurement(
        case,
        metrics={
            "wall_seconds": trained.ended - PROCESS_START,
            "initialisation_seconds": trained.started - PROCESS_START,
            "training_seconds": trained.ended - trained.started,
        },
        counts={"environment_steps": trained.environment_steps, "gradient_steps": trained.gradient_steps},
    )
    if output is not None:
        episodes = [
            {"step": each.step, "length": each.length, "return": each.value} for each in trained.episodes
        ]
        (output / "episodes.json").write_text(json.dumps(episodes) + "\n", encoding="utf-8")
        # Written as bytes: safetensors' own writer makes files that only their owner can read.
        (output / "weights.safetensors").write_bytes(save(online.state_dict()))
        if given is not None:
            (output / "update.safetensors").write_bytes(save(parity_update(load_file(given))))
    return event


def main() -> None:
    """Serve the one case asked for, or, by hand, CartPole-v1 at its full length."""
    parser = protocol.parser(__doc__)
    parser.add_argument(
        "--steps", type=int, help="by hand, without --case: environment steps (default 500000)"
    )
    options = parser.parse_args()
    request = protocol.request(options)
    if not request.cases:
        by_hand(request, BY_HAND if options.steps is None else {**BY_HAND, "steps": options.steps})
        return
    if len(request.cases) > 1 or options.steps is not None:
        protocol.refuse("a training serves one --case, whose steps stand in its --parameters; give just that")
    (case,) = request.cases
    parameters = protocol.checked(case, Parameters)
    given = (
        None
        if request.input_directory is None
        else request.input_directory / case.name / "parity.safetensors"
    )
    if given is not None and not given.is_file():
        protocol.refuse(f"{given} does not exist; make it with baselines.inputs, or leave --input out")
    protocol.print_measurement(run(case, parameters, request.seed, given, request.output_of(case)))


def by_hand(request: protocol.Request, values: Mapping[str, Any]) -> None:
    """Train without a runner: no parity update; outputs and measurement go to results/baselines/."""
    case = protocol.Case(name=values["environment"], parameters=values)
    parameters = protocol.checked(case, Parameters)
    results = Path(__file__).resolve().parent.parent / "results" / "baselines"
    output = request.output_directory or results / f"dqn_cartpole-seed{request.seed}"
    output.mkdir(parents=True, exist_ok=True)
    print(
        f"dqn_cartpole: {parameters.steps} steps, seed {request.seed}; writing to {output}", file=sys.stderr
    )
    event = run(case, parameters, request.seed, None, output)
    (output / "measurement.json").write_text(json.dumps(event) + "\n", encoding="utf-8")
    protocol.print_measurement(event)


if __name__ == "__main__":
    main()
