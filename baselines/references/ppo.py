"""PPO (Schulman et al., 2017) on CartPole-v1: the reference of the benchmark `ppo`.

Our own code after the algorithm of CleanRL's ppo.py at commit fe8d8a0, faithful in every constant and in the
order of every random draw: with the same seed and the same PyTorch it plays CleanRL's episodes, one by one.
It leaves out CleanRL's logging: TensorBoard, prints, and the figures that are computed for logging alone (approximate
KL divergence, clipped share, explained variance). It adds a list of the episodes. All other work is CleanRL's.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.references.ppo [--seed 1] [--iterations 976]
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
from torch.distributions.categorical import Categorical

from baselines.benchmarks import training, training_in_pytorch
from baselines.benchmarks.action_log import Logged, logs_of
from baselines.benchmarks.ppo import (
    ADAM_EPSILON,
    ADVANTAGE_EPSILON,
    BY_HAND,
    CLIP,
    ENTROPY_COEFFICIENT,
    GAE_LAMBDA,
    GAMMA,
    GRADIENT_NORM,
    LEARNING_RATE,
    VALUE_COEFFICIENT,
    Parameters,
)
from baselines.benchmarks.training import Trained, Variant
from baselines.contract import protocol


class Rollout(NamedTuple):
    """Steps of all environments: (steps, environments, ...), f32; `dones[t]` is the flag before step t."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    rewards: Tensor
    dones: Tensor
    values: Tensor


class Minibatch(NamedTuple):
    """Rows of a rollout: observations (n, 4) f32, actions (n,) i64, the others (n,) f32."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


class Losses(NamedTuple):
    """What one update computed on its way; `gradient_norm` is that before clipping."""

    loss: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    gradient_norm: Tensor


def orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    """The layer with an orthogonal weight of that gain and no bias."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.constant_(layer.bias, 0.0)
    return layer


def make_network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers; the gain is that of the head."""
    hidden_gain = float(np.sqrt(2))
    return nn.Sequential(
        orthogonal(nn.Linear(inputs, 64), hidden_gain),
        nn.Tanh(),
        orthogonal(nn.Linear(64, 64), hidden_gain),
        nn.Tanh(),
        orthogonal(nn.Linear(64, outputs), gain),
    )


def make_agent(observation: int, actions: int) -> nn.ModuleDict:
    """A critic under "critic" and an actor under "actor", which share nothing; the critic is drawn first."""
    critic = make_network(observation, 1, gain=1.0)
    return nn.ModuleDict({"critic": critic, "actor": make_network(observation, actions, gain=0.01)})


def act(
    agent: nn.ModuleDict, observations: Tensor, actions: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Actions (n,), drawn unless given, their log-probabilities (n,), entropies (n,) and values (n, 1)."""
    distribution = Categorical(logits=agent["actor"](observations))
    if actions is None:
        actions = distribution.sample()
    return actions, distribution.log_prob(actions), distribution.entropy(), agent["critic"](observations)


def make_environments(name: str, count: int) -> VectorEnv[Any, Any, Any]:
    """A vector whose environments begin the next episode in the step that ends the last."""

    def make() -> gym.Env[Any, Any]:
        return gym.wrappers.RecordEpisodeStatistics(Logged(gym.make(name)))

    return SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def sizes_of(environments: VectorEnv[Any, Any, Any]) -> tuple[int, int]:
    """Numbers in one observation, and discrete actions: (4, 2) on CartPole."""
    space = environments.single_action_space
    if not isinstance(space, gym.spaces.Discrete):
        protocol.refuse(f"this PPO needs discrete actions, not {space}; name another environment")
    return int(np.prod(environments.single_observation_space.shape or ())), int(space.n)


def make_optimizer(agent: nn.ModuleDict) -> torch.optim.Adam:
    """Adam with betas 0.9 and 0.999; the learning rate is set anew in every iteration."""
    return torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=ADAM_EPSILON)


def annealed(iteration: int, iterations: int) -> float:
    """The learning rate of an iteration, counted from 1: in a straight line to 0."""
    return (1.0 - (iteration - 1.0) / iterations) * LEARNING_RATE


def advantages_of(
    rewards: Tensor, dones: Tensor, values: Tensor, next_value: Tensor, next_done: Tensor
) -> Tensor:
    """Generalised advantage estimation over (steps, environments), from values and flags before each step.

    Args:
        rewards: (steps, environments).
        dones: (steps, environments), 1 where the step before ended an episode.
        values: (steps, environments).
        next_value: (environments,), of the observations after the last step.
        next_done: (environments,), whether the last step ended an episode.
    """
    advantages = torch.zeros_like(rewards)
    steps = len(rewards)
    last: Tensor | float = 0.0
    for t in reversed(range(steps)):
        if t == steps - 1:
            continues, following = 1.0 - next_done, next_value
        else:
            continues, following = 1.0 - dones[t + 1], values[t + 1]
        delta = rewards[t] + GAMMA * following * continues - values[t]
        advantages[t] = last = delta + GAMMA * GAE_LAMBDA * continues * last
    return advantages


def update(agent: nn.ModuleDict, optimizer: torch.optim.Adam, batch: Minibatch) -> Losses:
    """One gradient step on the clipped surrogate, the clipped value loss and the entropy."""
    _, log_probabilities, entropy, values = act(agent, batch.observations, batch.actions)
    ratio = (log_probabilities - batch.log_probabilities).exp()
    advantages = batch.advantages
    advantages = (advantages - advantages.mean()) / (advantages.std() + ADVANTAGE_EPSILON)
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()

    values = values.view(-1)
    unclipped = (values - batch.returns) ** 2
    clipped = (batch.values + torch.clamp(values - batch.values, -CLIP, CLIP) - batch.returns) ** 2
    value_loss = 0.5 * torch.max(unclipped, clipped).mean()

    mean_entropy = entropy.mean()
    loss = policy_loss - ENTROPY_COEFFICIENT * mean_entropy + value_loss * VALUE_COEFFICIENT
    optimizer.zero_grad()
    loss.backward()
    gradient_norm = nn.utils.clip_grad_norm_(agent.parameters(), GRADIENT_NORM)
    optimizer.step()
    return Losses(loss, policy_loss, value_loss, mean_entropy, gradient_norm)


@dataclass
class Trace:
    """What the run says about itself, taken down where it was done."""

    learning_rate: list[float] = field(default_factory=list)
    update_steps: list[int] = field(default_factory=list)
    batch_rows: list[int] = field(default_factory=list)
    wrong_flags: int = 0
    """How many flags of the rollouts are not what the environments said one step before: none."""

    def iteration(
        self, learning_rate: float, flags: NDArray[np.float32], ended_before: NDArray[np.bool_]
    ) -> None:
        """Between acting and learning; the environments' last word is the next iteration's first."""
        self.learning_rate.append(learning_rate)
        self.wrong_flags += int((flags != ended_before).sum())
        ended_before[0] = ended_before[-1]

    def tensors(self) -> dict[str, Tensor]:
        """The trace as it is written: whole numbers i64, the learning rate f64."""
        return {
            "learning_rate": torch.tensor(self.learning_rate, dtype=torch.float64),
            "update_steps": training_in_pytorch.integers(self.update_steps),
            "batch_rows": training_in_pytorch.integers(self.batch_rows),
            "wrong_flags": training_in_pytorch.integers([self.wrong_flags]),
        }


def initial_weights(agent: nn.ModuleDict) -> dict[str, Tensor]:
    """Of the first weights what does not depend on the draw: Gram matrices, a multiple of 1 each, and biases."""
    result = {}
    for name, parameter in agent.named_parameters():
        weight = parameter.detach().clone()
        if name.endswith("bias"):
            result[f"initial.{name}"] = weight
        else:
            rows, columns = weight.shape
            result[f"initial.{name}.gram"] = weight @ weight.T if rows <= columns else weight.T @ weight
    return result


def train(parameters: Parameters, seed: int) -> Trained:
    """Train an agent; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on; that of the networks is PyTorch's own.
    """
    environments = make_environments(parameters.environment, parameters.environments)
    agent = make_agent(*sizes_of(environments))
    optimizer = make_optimizer(agent)
    steps, rows = parameters.rollout_steps, parameters.rollout_rows
    minibatch_rows = rows // parameters.minibatches
    shape = (steps, parameters.environments)
    observation_shape = tuple(environments.single_observation_space.shape or ())
    rollout = Rollout(torch.zeros(*shape, *observation_shape), *(torch.zeros(shape) for _ in range(5)))
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace = Trace()
    initial = initial_weights(agent)

    next_observations = torch.Tensor(environments.reset(seed=seed)[0])
    next_done = torch.zeros(parameters.environments)
    # The environments' own word on every step of an iteration, and on the step before: what the flags are held to.
    ended_before = np.zeros((steps + 1, parameters.environments), dtype=np.bool_)
    started = time.perf_counter()
    for iteration in range(1, parameters.iterations + 1):
        optimizer.param_groups[0]["lr"] = annealed(iteration, parameters.iterations)

        # Act.
        for step in range(steps):
            environment_steps += parameters.environments
            rollout.observations[step] = next_observations
            rollout.dones[step] = next_done
            with torch.no_grad():
                actions, log_probabilities, _, values = act(agent, next_observations)
                rollout.values[step] = values.flatten()
            rollout.actions[step] = actions
            rollout.log_probabilities[step] = log_probabilities
            observations, rewards, terminations, truncations, infos = environments.step(actions.numpy())
            ended_before[step + 1] = terminations | truncations
            rollout.rewards[step] = torch.tensor(rewards).view(-1)
            next_observations = torch.Tensor(observations)
            next_done = torch.Tensor(np.logical_or(terminations, truncations))
            episodes += training.episodes_of(infos, environment_steps - parameters.environments)

        # Look back.
        with torch.no_grad():
            next_value = agent["critic"](next_observations).flatten()
            advantages = advantages_of(rollout.rewards, rollout.dones, rollout.values, next_value, next_done)
            returns = advantages + rollout.values

        trace.iteration(
            optimizer.param_groups[0]["lr"],
            np.vstack([rollout.dones.numpy(), next_done.numpy()]),
            ended_before,
        )

        # Learn.
        flat = Minibatch(
            observations=rollout.observations.reshape(-1, *observation_shape),
            actions=rollout.actions.reshape(-1).long(),
            log_probabilities=rollout.log_probabilities.reshape(-1),
            advantages=advantages.reshape(-1),
            returns=returns.reshape(-1),
            values=rollout.values.reshape(-1),
        )
        order = np.arange(rows)
        for _ in range(parameters.epochs):
            np.random.shuffle(order)
            for start in range(0, rows, minibatch_rows):
                chosen = order[start : start + minibatch_rows]
                batch = Minibatch(*(each[chosen] for each in flat))
                update(agent, optimizer, batch)
                gradient_steps += 1
                trace.update_steps.append(environment_steps)
                trace.batch_rows.append(len(batch.actions))
        progress.report(environment_steps)
    ended = time.perf_counter()
    environments.close()
    return Trained(
        started=started,
        ended=ended,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=logs_of(environments),
    )


def parity(given: Mapping[str, Tensor], updates: int) -> dict[str, Tensor]:
    """Advantages of a given rollout, and consecutive updates from given weights and given minibatches.

    Both go through the very functions that training uses; the learning rate is the first iteration's.

    Args:
        given: `actor.*` and `critic.*` weights under PyTorch's names, `rollout.*`, and 100 minibatches.
        updates: how many of them are taken.

    Returns:
        `advantages` and `returns` of the rollout; of the first update the `Losses`, `gradient.*` after clipping
        and, after one Adam step from fresh moments, `parameter.*`; `after.*`, the parameters after all of them;
        `exact.*`, the same in double precision.
    """
    result = consecutive_updates(given, updates)
    exact = consecutive_updates(training_in_pytorch.in_double_precision(given), updates)
    return training_in_pytorch.with_exact(result, exact)


def consecutive_updates(
    given: Mapping[str, Tensor],
    updates: int,
    *,
    look_back: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] = advantages_of,
    prepare: Callable[[nn.ModuleDict], None] | None = None,
) -> dict[str, Tensor]:
    """What `parity` returns but `exact.*`, in the precision of the data given.

    `look_back` computes the advantages; a variant has a function of its own. `prepare` does with the agent what a variant
    does with it before training.
    """
    agent = given_agent(given)
    if prepare is not None:
        prepare(agent)
    optimizer = make_optimizer(agent)
    advantages = look_back(
        *(given[f"rollout.{name}"] for name in ("rewards", "dones", "values", "next_value", "next_done"))
    )
    result = {"advantages": advantages, "returns": advantages + given["rollout.values"]}
    for index in range(updates):
        losses = update(agent, optimizer, given_batch(given, index))
        if index == 0:
            result |= {name: value.detach().clone() for name, value in losses._asdict().items()}
            for name, parameter in agent.named_parameters():
                result[f"gradient.{name}"] = parameter.grad.clone()
                result[f"parameter.{name}"] = parameter.detach().clone()
    return result | {f"after.{name}": parameter.detach() for name, parameter in agent.named_parameters()}


def given_agent(given: Mapping[str, Tensor]) -> nn.ModuleDict:
    """An agent with the input file's weights, in their precision."""
    networks = {network: training.layers(given, network) for network in ("actor", "critic")}
    first, head = networks["actor"]["0.weight"], networks["actor"]["4.weight"]
    agent = make_agent(first.shape[1], head.shape[0])
    for network, weights in networks.items():
        agent[network].to(first.dtype).load_state_dict(weights)
    return agent


def given_batch(given: Mapping[str, Tensor], index: int) -> Minibatch:
    """One minibatch of the input file."""
    return Minibatch(**{name: given[name][index] for name in Minibatch._fields})


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="ppo",
            description=__doc__,
            parameters=Parameters,
            by_hand=BY_HAND,
            variant=Variant(train=train, parity=parity, library=training_in_pytorch.PYTORCH),
        ),
        FIRST_LINE,
    )
