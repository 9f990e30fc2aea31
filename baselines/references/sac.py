"""SAC (Haarnoja et al., 2018) on Pendulum-v1, or any Gymnasium task of continuous actions: the reference of `sac`.

Our own code after the algorithm of CleanRL's sac_continuous_action.py at commit fe8d8a0. Every constant is CleanRL's but
the number of steps and the start of learning. Random draws have CleanRL's order: with the same seed and the same PyTorch
it plays CleanRL's episodes, one by one. It leaves out CleanRL's logging (TensorBoard, prints) and the mean action, which
CleanRL computes and never uses. It adds a list of the episodes. All other work is CleanRL's, acting with autograd too.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.references.sac [--environment Pendulum-v1] [--seed 1] [--steps 20000]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions.normal import Normal

from baselines.benchmarks import training, training_in_pytorch
from baselines.benchmarks.action_log import Logged, logs_of
from baselines.benchmarks.sac import (
    ALPHA_LEARNING_RATE,
    BUFFER_SIZE,
    BY_HAND,
    CRITIC_LEARNING_RATE,
    CRITICS,
    GAMMA,
    HIDDEN,
    LOG_EPSILON,
    LOG_STD_MAX,
    LOG_STD_MIN,
    PARITY_SCALE,
    POLICY_FREQUENCY,
    POLICY_LEARNING_RATE,
    STEPS_BETWEEN_PROGRESS,
    TARGET_NETWORK_FREQUENCY,
    TAU,
    Parameters,
    target_entropy,
)
from baselines.benchmarks.training import Trained, Variant
from baselines.contract import protocol
from baselines.references.replay_buffer import Batch, ReplayBuffer, Truncations


class Bounds(NamedTuple):
    """What turns a number between -1 and 1 into an action: (actions,) each."""

    scale: Tensor
    bias: Tensor


class Temperature:
    """The weight of the entropy, learned through its logarithm; `alpha` is its value as a number."""

    def __init__(self, log_alpha: Tensor, target_entropy: float) -> None:
        self.log_alpha = log_alpha.requires_grad_()
        self.target_entropy = target_entropy
        self.alpha = float(log_alpha.exp())


class Optimizers(NamedTuple):
    """One for both critics, one for the actor, one for the temperature."""

    critics: torch.optim.Adam
    actor: torch.optim.Adam
    temperature: torch.optim.Adam


def make_environments(name: str, seed: int, count: int = 1) -> VectorEnv[Any, Any, Any]:
    """A vector of so many environments, beginning the next episode in the step that ends the last."""

    def make() -> gym.Env[Any, Any]:
        environment = gym.wrappers.RecordEpisodeStatistics(Logged(gym.make(name)))
        environment.action_space.seed(seed)
        return environment

    return SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def action_space_of(environments: VectorEnv[Any, Any, Any]) -> gym.spaces.Box:
    """The space of one environment's actions."""
    space = environments.single_action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    return space


def bounds_of(space: gym.spaces.Box) -> Bounds:
    """How the actor's output is stretched over the space."""
    return Bounds(
        scale=torch.tensor((space.high - space.low) / 2.0, dtype=torch.float32),
        bias=torch.tensor((space.high + space.low) / 2.0, dtype=torch.float32),
    )


def make_networks(observation: int, actions: int, hidden: int = HIDDEN) -> nn.ModuleDict:
    """Actor, critics and their targets, drawn in this order; the targets then get the critics' weights."""

    def critic() -> nn.ModuleDict:
        return nn.ModuleDict(
            {
                "fc1": nn.Linear(observation + actions, hidden),
                "fc2": nn.Linear(hidden, hidden),
                "fc3": nn.Linear(hidden, 1),
            }
        )

    actor = nn.ModuleDict(
        {
            "fc1": nn.Linear(observation, hidden),
            "fc2": nn.Linear(hidden, hidden),
            "fc_mean": nn.Linear(hidden, actions),
            "fc_logstd": nn.Linear(hidden, actions),
        }
    )
    networks = {"actor": actor} | {name: critic() for name in ("qf1", "qf2", "qf1_target", "qf2_target")}
    for name in CRITICS:
        networks[f"{name}_target"].load_state_dict(networks[name].state_dict())
    return nn.ModuleDict(networks)


def make_optimizers(networks: nn.ModuleDict, temperature: Temperature) -> Optimizers:
    """Adam with PyTorch's own defaults: betas 0.9 and 0.999, eps 1e-8."""
    critics = [parameter for name in CRITICS for parameter in networks[name].parameters()]
    return Optimizers(
        critics=torch.optim.Adam(critics, lr=CRITIC_LEARNING_RATE),
        actor=torch.optim.Adam(networks["actor"].parameters(), lr=POLICY_LEARNING_RATE),
        temperature=torch.optim.Adam([temperature.log_alpha], lr=ALPHA_LEARNING_RATE),
    )


def value_of(critic: nn.ModuleDict, observations: Tensor, actions: Tensor) -> Tensor:
    """Values (n, 1) of observations (n, ...) and actions (n, ...)."""
    hidden = torch.cat([observations, actions], 1)
    hidden = nn.functional.relu(critic["fc1"](hidden))
    hidden = nn.functional.relu(critic["fc2"](hidden))
    return critic["fc3"](hidden)


def sample(
    actor: nn.ModuleDict, bounds: Bounds, observations: Tensor, noise: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Actions (n, actions) and their log-probabilities (n, 1), from normal noise that is drawn unless given."""
    hidden = nn.functional.relu(actor["fc1"](observations))
    hidden = nn.functional.relu(actor["fc2"](hidden))
    mean = actor["fc_mean"](hidden)
    log_std = torch.tanh(actor["fc_logstd"](hidden))
    log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
    distribution = Normal(mean, log_std.exp())
    if noise is None:
        noise = torch.randn(mean.shape)
    raw = mean + noise * distribution.scale
    squashed = torch.tanh(raw)
    actions = squashed * bounds.scale + bounds.bias
    # The density changes with the squashing.
    log_probabilities = distribution.log_prob(raw)
    log_probabilities = log_probabilities - torch.log(bounds.scale * (1 - squashed.pow(2)) + LOG_EPSILON)
    return actions, log_probabilities.sum(1, keepdim=True)


def wanted_of(
    networks: nn.ModuleDict, bounds: Bounds, batch: Batch, alpha: float, noise: Tensor | None = None
) -> Tensor:
    """What the critics are to say of a minibatch, (n,); bootstrapping stops at termination only."""
    with torch.no_grad():
        next_actions, next_log_probabilities = sample(
            networks["actor"], bounds, batch.next_observations, noise
        )
        next_values = torch.min(
            value_of(networks["qf1_target"], batch.next_observations, next_actions),
            value_of(networks["qf2_target"], batch.next_observations, next_actions),
        )
        next_values = next_values - alpha * next_log_probabilities
        continues = (1 - batch.terminations.flatten()) * GAMMA
        wanted = batch.rewards.flatten() + continues * next_values.view(-1)
    return wanted


def fit_critics(networks: nn.ModuleDict, optimizer: torch.optim.Adam, batch: Batch, wanted: Tensor) -> Tensor:
    """One gradient step on the sum of both critics' squared errors."""
    values = [value_of(networks[name], batch.observations, batch.actions).view(-1) for name in CRITICS]
    first, second = (nn.functional.mse_loss(each, wanted) for each in values)
    loss = first + second
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def update_critics(
    networks: nn.ModuleDict,
    bounds: Bounds,
    optimizer: torch.optim.Adam,
    batch: Batch,
    alpha: float,
    noise: Tensor | None = None,
) -> Tensor:
    """One gradient step of both critics towards what the targets say of a minibatch."""
    wanted = wanted_of(networks, bounds, batch, alpha, noise)
    return fit_critics(networks, optimizer, batch, wanted)


def update_actor(
    networks: nn.ModuleDict,
    bounds: Bounds,
    optimizer: torch.optim.Adam,
    observations: Tensor,
    alpha: float,
    noise: Tensor | None = None,
) -> Tensor:
    """One gradient step towards higher values and more entropy."""
    actions, log_probabilities = sample(networks["actor"], bounds, observations, noise)
    values = torch.min(
        value_of(networks["qf1"], observations, actions), value_of(networks["qf2"], observations, actions)
    )
    loss = ((alpha * log_probabilities) - values).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def update_temperature(
    networks: nn.ModuleDict,
    bounds: Bounds,
    optimizer: torch.optim.Adam,
    observations: Tensor,
    temperature: Temperature,
    noise: Tensor | None = None,
) -> Tensor:
    """One gradient step towards the target entropy, from log-probabilities of actions drawn afresh."""
    with torch.no_grad():
        _, log_probabilities = sample(networks["actor"], bounds, observations, noise)
    loss = (-temperature.log_alpha.exp() * (log_probabilities + temperature.target_entropy)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    temperature.alpha = temperature.log_alpha.exp().item()
    return loss


class Steps(NamedTuple):
    """The three kinds of gradient steps, each with the arguments and the loss of this file's."""

    critics: Callable[..., Tensor] = update_critics
    actor: Callable[..., Tensor] = update_actor
    temperature: Callable[..., Tensor] = update_temperature


STEPS = Steps()


def move_targets(networks: nn.ModuleDict) -> None:
    """Move the target critics a little towards the critics."""
    for name in CRITICS:
        pairs = zip(networks[f"{name}_target"].parameters(), networks[name].parameters(), strict=True)
        for target, parameter in pairs:
            target.data.copy_(TAU * parameter.data + (1 - TAU) * target.data)


@dataclass
class Trace:
    """What the run says about itself: which step did what, taken down where it was done."""

    update_steps: list[int] = field(default_factory=list)
    policy_steps: list[int] = field(default_factory=list)
    target_steps: list[int] = field(default_factory=list)
    buffer_rows: list[int] = field(default_factory=list)
    batch_rows: list[int] = field(default_factory=list)
    buffer_capacity: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)

    def tensors(self) -> dict[str, Tensor]:
        """The trace as it is written: whole numbers, i64."""
        return {name: training_in_pytorch.integers(values) for name, values in vars(self).items()}


def widths(networks: nn.ModuleDict) -> list[int]:
    """Of the hidden layers of actor and critic, for the trace."""
    layers = [networks[name][layer] for name in ("actor", "qf1") for layer in ("fc1", "fc2")]
    return [layer.out_features for layer in layers]


def initial_bounds(networks: nn.ModuleDict) -> dict[str, Tensor]:
    """How far the first weights reach, for the trace."""
    return {
        f"initial.{name}.bound": training_in_pytorch.weight_bound(parameter)
        for name, parameter in networks.named_parameters()
        if name.endswith("weight") and "_target." not in name
    }


def remember(
    buffer: ReplayBuffer,
    truncated: Truncations,
    observations: NDArray[np.float32],
    actions: NDArray[np.float32],
    told: tuple[Any, ...],
) -> None:
    """Keep one transition of each environment, in their order.

    After a truncation the environment has begun anew and keeps its last observation apart.

    Args:
        buffer: keeps them.
        truncated: looks at what the buffer has of truncations.
        observations: what was seen before the actions.
        actions: of each environment.
        told: what their step returned.
    """
    next_observations, rewards, terminations, truncations, infos = told
    real_next_observations = next_observations.copy()
    for index in range(len(actions)):
        if truncations[index]:
            real_next_observations[index] = infos["final_obs"][index]
        transition: tuple[NDArray[Any], ...] = (
            observations,
            real_next_observations,
            actions,
            rewards,
            terminations,
        )
        buffer.add(*(each[index : index + 1] for each in transition))
        if truncations[index] and not terminations[index]:
            truncated.note(buffer.latest(), infos["final_obs"][index])


def train(parameters: Parameters, seed: int) -> Trained:
    """Train an actor; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on, and of the action space; that of networks and noise is
            PyTorch's own.
    """
    count = parameters.environments
    environments = make_environments(parameters.environment, seed, count)
    space = action_space_of(environments)
    observation_shape = tuple(environments.single_observation_space.shape or ())
    networks = make_networks(int(np.prod(observation_shape)), int(np.prod(space.shape)), parameters.hidden)
    bounds = bounds_of(space)
    temperature = Temperature(torch.zeros(1), target_entropy(int(np.prod(space.shape))))
    optimizers = make_optimizers(networks, temperature)
    buffer = ReplayBuffer(BUFFER_SIZE, observation_shape, space.shape, np.float32)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace, truncated = Trace(buffer_capacity=[len(buffer.rewards)], hidden=widths(networks)), Truncations()
    initial = initial_bounds(networks)

    observations, _ = environments.reset(seed=seed)
    started = time.perf_counter()
    for step in range(0, parameters.steps, count):
        # Act: at random until learning starts, then as the actor does.
        if step < parameters.learning_starts:
            actions = np.array([space.sample() for _ in range(count)])
        else:
            drawn, _ = sample(networks["actor"], bounds, torch.Tensor(observations))
            actions = drawn.detach().numpy()
        told = environments.step(actions)
        environment_steps += count

        # Remember.
        episodes += training.episodes_of(told[-1], step)
        remember(buffer, truncated, observations, actions, told)
        observations = told[0]

        # Learn, once for each of these steps.
        for taken in range(step, step + count):
            if taken > parameters.learning_starts:
                batch = buffer.sample(parameters.batch)
                update_critics(networks, bounds, optimizers.critics, batch, temperature.alpha)
                gradient_steps += 1
                trace.update_steps.append(taken)
                trace.buffer_rows.append(len(buffer))
                trace.batch_rows.append(len(batch.actions))
                if taken % POLICY_FREQUENCY == 0:
                    # As many policy updates as critic updates, in spite of the delay.
                    for _ in range(POLICY_FREQUENCY):
                        given = batch.observations
                        update_actor(networks, bounds, optimizers.actor, given, temperature.alpha)
                        trace.policy_steps.append(taken)
                        update_temperature(networks, bounds, optimizers.temperature, given, temperature)
                if taken % TARGET_NETWORK_FREQUENCY == 0:
                    move_targets(networks)
                    trace.target_steps.append(taken)

        if step % STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
    ended = time.perf_counter()
    environments.close()
    return Trained(
        started=started,
        ended=ended,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=networks.state_dict() | {"log_alpha": temperature.log_alpha},
        trace=trace.tensors() | truncated.tensors() | initial,
        logs=logs_of(environments),
    )


def parity(
    given: Mapping[str, Tensor], updates: int, *, move: Callable[[nn.ModuleDict], None] = move_targets
) -> dict[str, Tensor]:
    """Consecutive updates from given weights, minibatches and noise, through the very functions of training.

    Args:
        given: weights under PyTorch's names, `log_alpha`, 100 minibatches, and the noise of every sampling.
        updates: how many of them are taken. Those with an even index update actor and temperature, twice.
        move: moves the targets; a variant has a function of its own.

    Returns:
        Of the first update `qf_loss` and the critics' gradients; `actor_loss`, `alpha_loss` and `alpha` of the
        first of its two rounds of actor and temperature, with their gradients; `parameter.*` after all of it;
        `after.*`, the parameters after all updates; `exact.*`, the same in double precision.
    """
    result = consecutive_updates(given, updates, move=move)
    exact = consecutive_updates(training_in_pytorch.in_double_precision(given), updates, move=move)
    return training_in_pytorch.with_exact(result, exact)


def consecutive_updates(
    given: Mapping[str, Tensor],
    updates: int,
    *,
    move: Callable[[nn.ModuleDict], None] = move_targets,
    steps: Steps = STEPS,
) -> dict[str, Tensor]:
    """What `parity` returns but `exact.*`, in the precision of the data given.

    `move` moves the targets, and `steps` are the gradient steps; a variant has functions of its own.
    """
    networks = given_networks(given)
    bounds = Bounds(given["log_alpha"].new_full((1,), PARITY_SCALE), given["log_alpha"].new_zeros(1))
    temperature = Temperature(given["log_alpha"].clone(), target_entropy(given["actions"].shape[-1]))
    optimizers = make_optimizers(networks, temperature)
    result: dict[str, Tensor] = {}

    def keep(tensors: Mapping[str, Tensor]) -> None:
        """Of every tensor the first that is computed."""
        result.update({name: each.detach().clone() for name, each in tensors.items() if name not in result})

    def gradients(*names: str) -> dict[str, Tensor]:
        return {
            f"gradient.{name}.{key}": parameter.grad
            for name in names
            for key, parameter in networks[name].named_parameters()
        }

    def parameters(prefix: str) -> dict[str, Tensor]:
        return {f"{prefix}.{name}": parameter for name, parameter in networks.named_parameters()} | {
            f"{prefix}.log_alpha": temperature.log_alpha
        }

    for index in range(updates):
        batch = given_batch(given, index)
        noise = given["noise.next"][index]
        loss = steps.critics(networks, bounds, optimizers.critics, batch, temperature.alpha, noise)
        keep({"qf_loss": loss} | gradients(*CRITICS))
        if index % POLICY_FREQUENCY == 0:
            for turn in range(POLICY_FREQUENCY):
                noise = given["noise.policy"][index, turn]
                loss = steps.actor(
                    networks, bounds, optimizers.actor, batch.observations, temperature.alpha, noise
                )
                keep({"actor_loss": loss} | gradients("actor"))
                noise = given["noise.alpha"][index, turn]
                loss = steps.temperature(
                    networks, bounds, optimizers.temperature, batch.observations, temperature, noise
                )
                keep({"alpha_loss": loss, "alpha": loss.new_tensor(temperature.alpha)})
                keep({"gradient.log_alpha": temperature.log_alpha.grad})
        move(networks)
        keep(parameters("parameter"))
    keep(parameters("after"))
    return result


def given_networks(given: Mapping[str, Tensor]) -> nn.ModuleDict:
    """Networks with the input file's weights, in their precision."""
    hidden, inputs = given["actor.fc1.weight"].shape
    networks = make_networks(inputs, given["actor.fc_mean.weight"].shape[0], hidden)
    networks.to(given["log_alpha"].dtype)
    networks.load_state_dict({name: given[name] for name in networks.state_dict()})
    return networks


def given_batch(given: Mapping[str, Tensor], index: int) -> Batch:
    """One minibatch of the input file."""
    return Batch(
        observations=given["observations"][index],
        next_observations=given["next_observations"][index],
        actions=given["actions"][index],
        rewards=given["rewards"][index].reshape(-1, 1),
        terminations=given["terminations"][index].reshape(-1, 1),
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="sac",
            description=__doc__,
            parameters=Parameters,
            by_hand=BY_HAND,
            variant=Variant(train=train, parity=parity, library=training_in_pytorch.PYTORCH),
        ),
        FIRST_LINE,
    )
