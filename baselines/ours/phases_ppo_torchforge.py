"""`phases-ppo`: PPO whose environments and advantages are our module's, and whose networks and updates are PyTorch's.

It is built as rlox's profiling report (2026-03-28) describes its own trainer: a loop in Python asks the actor and then
the critic, takes one step of all environments in one call, and looks back over the whole rollout in one call. That
trainer hands its actions over as a list and keeps a rollout as lists of tensors; so does this one without options. Each
option is one recommendation of that report. Networks, constants and draws are those of `baselines/references/ppo.py`.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.ours.phases_ppo_torchforge [--phases] [--arrays] [--fused]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
import torchforge
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions.categorical import Categorical

from baselines.benchmarks import phases, training
from baselines.benchmarks import ppo as work
from baselines.benchmarks.action_log import ActionLog
from baselines.benchmarks.phases import Layer, MakeWatch, Phase
from baselines.benchmarks.ppo import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH, in_double_precision, with_exact
from baselines.contract import protocol
from baselines.references import phases_ppo, ppo
from baselines.references.ppo import Minibatch

PHASES = (
    Phase("environment", Layer.RUST),
    Phase("acting", Layer.PYTORCH),
    Phase("conversion", Layer.PYTHON),
    Phase("storing", Layer.PYTHON),
    Phase("episodes", Layer.PYTHON),
    Phase("advantages", Layer.RUST),
    Phase("minibatches", Layer.PYTORCH),
    Phase("update", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
ENVIRONMENT, ACTING, CONVERSION, STORING, EPISODES, ADVANTAGES, MINIBATCHES, UPDATE, OTHER = range(
    len(PHASES)
)

OPTIONS = phases.OPTION | {
    "arrays": "hand actions over as arrays, without a list in between",
    "preallocated": "write a rollout into arrays that were made before",
    "fused": "actor and critic in one forward pass while collecting, their hidden layers stacked once a rollout",
    "compiled": "actor and critic by torch.compile; needs g++ and the headers of Python and PyTorch",
}

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A rollout: tensors (steps, environments, ...), and what the advantages are computed of, (environments, steps)."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    values: Tensor
    rewards_by_row: Floats
    values_by_row: Floats
    ended_by_row: Floats


class Rollout(Protocol):
    """Keeps the steps of a rollout."""

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Keep one step of all environments."""

    def whole(self) -> Collected:
        """All steps of the rollout."""


class Lists:
    """A list for each quantity, made one tensor when the rollout is whole."""

    def __init__(self) -> None:
        self._steps: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        self._told: list[tuple[Floats, Flags]] = []

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Append one step."""
        del step
        self._steps.append((seen, actions, log_probabilities, values))
        self._told.append((rewards, ended))

    def whole(self) -> Collected:
        """Stack all, and begin anew."""
        seen, actions, log_probabilities, values = (
            torch.stack(each) for each in zip(*self._steps, strict=True)
        )
        rewards, ended = (np.stack(each) for each in zip(*self._told, strict=True))
        self._steps, self._told = [], []
        return Collected(
            observations=seen,
            actions=actions,
            log_probabilities=log_probabilities,
            values=values,
            rewards_by_row=np.ascontiguousarray(rewards.T),
            values_by_row=np.ascontiguousarray(values.numpy().T, dtype=np.float64),
            ended_by_row=np.ascontiguousarray(ended.T, dtype=np.float64),
        )


class Preallocated:
    """Arrays for a whole rollout, made once. What the advantages need is laid out for them."""

    def __init__(self, parameters: Parameters, observation_shape: tuple[int, ...]) -> None:
        steps, count = parameters.rollout_steps, parameters.environments
        self._observations = torch.empty(steps, count, *observation_shape)
        self._actions = torch.empty(steps, count, dtype=torch.int64)
        self._log_probabilities = torch.empty(steps, count)
        self._values = torch.empty(steps, count)
        self._rewards = np.empty((count, steps))
        self._ended = np.empty((count, steps))

    def keep(
        self,
        step: int,
        seen: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        values: Tensor,
        rewards: Floats,
        ended: Flags,
    ) -> None:
        """Write one step."""
        self._observations[step] = seen
        self._actions[step] = actions
        self._log_probabilities[step] = log_probabilities
        self._values[step] = values
        self._rewards[:, step] = rewards
        self._ended[:, step] = ended

    def whole(self) -> Collected:
        """The arrays themselves: the next rollout overwrites them."""
        return Collected(
            observations=self._observations,
            actions=self._actions,
            log_probabilities=self._log_probabilities,
            values=self._values,
            rewards_by_row=self._rewards,
            values_by_row=np.ascontiguousarray(self._values.numpy().T, dtype=np.float64),
            ended_by_row=self._ended,
        )


class Episodes:
    """The episodes of environments that are stepped together."""

    def __init__(self, count: int) -> None:
        self.finished: list[training.Episode] = []
        self.ends: list[list[int]] = [[] for _ in range(count)]
        """The steps that each environment had taken when its episodes ended."""
        self._count = count
        self._steps = 0
        self._began = [0] * count
        self._returns = np.zeros(count)

    def logs(self, space: gym.Space[Any], actions: NDArray[np.int64], seed: int) -> list[ActionLog]:
        """The log of each environment, given the actions (steps, environments) and the first one's seed."""
        return [
            ActionLog.of(space, actions[:, index], self.ends[index], seed + index)
            for index in range(self._count)
        ]

    def step(self, rewards: Floats, ended: Flags) -> None:
        """Take down a step of all."""
        self._steps += 1
        self._returns += rewards
        if ended.any():
            for index in np.flatnonzero(ended).tolist():
                length = self._steps - self._began[index]
                step = (self._steps - 1) * self._count + index
                self.finished.append(training.Episode(step, length, float(self._returns[index])))
                self._began[index] = self._steps
                self._returns[index] = 0.0
                self.ends[index].append(self._steps)


Act = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""From observations (n, ...): drawn actions (n,), their log-probabilities (n,), and values (n,)."""


def draw(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Drawn actions (n,) and their log-probabilities (n,), of logits (n, actions)."""
    distribution = Categorical(logits=logits)
    actions = distribution.sample()
    return actions, distribution.log_prob(actions)


def apart(agent: nn.ModuleDict) -> Act:
    """Ask the actor, then the critic."""

    def act(seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        actions, log_probabilities = draw(agent["actor"](seen))
        return actions, log_probabilities, agent["critic"](seen).view(-1)

    return act


def together(agent: nn.ModuleDict) -> Act:
    """Ask both in one pass, as they are now: each hidden layer of both is one call, and the heads stay apart.

    The weights are copied, so an update of the agent needs a new function. Results are those of `apart` up to rounding.
    """
    critic, actor = agent["critic"], agent["actor"]
    # Both see the same observations, so their first layers are one layer of twice the width.
    first_weight = torch.cat([critic[0].weight, actor[0].weight]).detach()
    first_bias = torch.cat([critic[0].bias, actor[0].bias]).detach()
    # (2, inputs, outputs) and (2, 1, outputs): the critic, then the actor.
    second_weight = torch.stack([critic[2].weight.T, actor[2].weight.T]).detach()
    second_bias = torch.stack([critic[2].bias, actor[2].bias]).detach()[:, None]

    def act(seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = nn.functional.linear(seen, first_weight, first_bias).tanh()
        of_both = hidden.view(len(seen), 2, -1).transpose(0, 1)
        of_critic, of_actor = torch.baddbmm(second_bias, of_both, second_weight).tanh()
        actions, log_probabilities = draw(actor[4](of_actor))
        return actions, log_probabilities, critic[4](of_critic).view(-1)

    return act


def through_a_list(actions: Tensor) -> NDArray[np.int64]:
    """Actions by way of a list of Python's numbers, as that report's collector makes it."""
    return np.array(actions.numpy().astype(np.uint32).tolist(), dtype=np.int64)


def as_array(actions: Tensor) -> NDArray[np.int64]:
    """The memory of the tensor itself."""
    array: NDArray[np.int64] = actions.numpy()
    return array


def through_layers(network: nn.Sequential, rows: Tensor) -> Tensor:
    """What `nn.Sequential` computes."""
    for layer in network:
        rows = layer(rows)
    return rows


def compile_networks(agent: nn.ModuleDict) -> None:
    """Have both networks compiled, at the first call of any agent with a shape; the names of the weights stay."""
    # `Module.compile` would compile the call around `forward`, which PyTorch 2.6 leaves alone.
    forward = torch.compile(through_layers, fullgraph=True, dynamic=False)
    for network in agent.values():
        network.forward = partial(forward, network)


def spaces_of(environment: str) -> tuple[tuple[int, ...], "gym.spaces.Discrete[Any]"]:
    """The shape of an observation, and the actions; an environment without discrete ones is refused."""
    with gym.make(environment) as one:
        shape, space = tuple(one.observation_space.shape or ()), one.action_space
    if not isinstance(space, gym.spaces.Discrete):
        protocol.refuse(f"this PPO needs discrete actions, not {space}; name another environment")
    return shape, space


def train(  # noqa: PLR0915 - one loop, and a border is a statement
    parameters: Parameters,
    seed: int,
    *,
    watching: MakeWatch,
    convert: Callable[[Tensor], NDArray[np.int64]],
    preallocated: bool,
    acting: Callable[[nn.ModuleDict], Act],
    compiled: bool,
) -> Trained:
    """Train an agent; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on; that of the networks is PyTorch's own.
        watching: makes the watch.
        convert: gives the environments the actions, (n,).
        preallocated: whether a rollout is written into arrays that were made before.
        acting: says once a rollout how the agent is asked.
        compiled: whether the networks are compiled.
    """
    count, steps = parameters.environments, parameters.rollout_steps
    environments = torchforge.make_vec(parameters.environment, count, "SameStep")
    observation_shape, space = spaces_of(parameters.environment)
    agent = ppo.make_agent(int(np.prod(observation_shape)), int(space.n))
    if compiled:
        compile_networks(agent)
    optimizer = ppo.make_optimizer(agent)
    rows = parameters.rollout_rows
    minibatch_rows = rows // parameters.minibatches
    rollout: Rollout = Preallocated(parameters, observation_shape) if preallocated else Lists()
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes = Episodes(count)
    taken_by_all: list[NDArray[np.int64]] = []
    trace = ppo.Trace()
    initial = ppo.initial_weights(agent)
    ended_before = np.zeros((steps + 1, count), dtype=np.bool_)

    watch = watching(PHASES)
    take_step = watch.crossing("environment_step", environments.step)
    look_back = watch.crossing("advantages", torchforge.compute_gae_batched)
    ended_at = watch.ended
    seen = torch.from_numpy(environments.reset(seed=seed)[0])
    started = watch.start()
    for iteration in range(1, parameters.iterations + 1):
        optimizer.param_groups[0]["lr"] = ppo.annealed(iteration, parameters.iterations)
        ended_at(OTHER)

        # Act.
        act = acting(agent)
        for step in range(steps):
            environment_steps += count
            with torch.no_grad():
                actions, log_probabilities, values = act(seen)
            ended_at(ACTING)
            taken = convert(actions)
            ended_at(CONVERSION)
            observations, rewards, terminations, truncations, _ = take_step(taken)
            ended_at(ENVIRONMENT)
            ended = terminations | truncations
            ended_before[step + 1] = ended
            rollout.keep(step, seen, actions, log_probabilities, values, rewards, ended)
            ended_at(STORING)
            episodes.step(rewards, ended)
            taken_by_all.append(taken)
            ended_at(EPISODES)
            seen = torch.from_numpy(observations)
            ended_at(CONVERSION)

        # Look back.
        with torch.no_grad():
            next_values = agent["critic"](seen).view(-1)
        ended_at(ACTING)
        collected = rollout.whole()
        ended_at(STORING)
        last_values = next_values.numpy().astype(np.float64)
        ended_at(CONVERSION)
        by_row = look_back(
            collected.rewards_by_row,
            collected.values_by_row,
            collected.ended_by_row,
            last_values,
            work.GAMMA,
            work.GAE_LAMBDA,
        )
        ended_at(ADVANTAGES)
        advantages, returns = (torch.from_numpy(each).T.float().reshape(-1) for each in by_row)
        ended_at(CONVERSION)

        flags = np.vstack([ended_before[:1], collected.ended_by_row.T]).astype(np.float32)
        trace.iteration(optimizer.param_groups[0]["lr"], flags, ended_before)
        ended_at(OTHER)

        # Learn.
        flat = Minibatch(
            observations=collected.observations.reshape(-1, *observation_shape),
            actions=collected.actions.reshape(-1),
            log_probabilities=collected.log_probabilities.reshape(-1),
            advantages=advantages,
            returns=returns,
            values=collected.values.reshape(-1),
        )
        order = np.arange(rows)
        for _ in range(parameters.epochs):
            np.random.shuffle(order)
            for start in range(0, rows, minibatch_rows):
                chosen_rows = order[start : start + minibatch_rows]
                batch = Minibatch(*(each[chosen_rows] for each in flat))
                ended_at(MINIBATCHES)
                ppo.update(agent, optimizer, batch)
                ended_at(UPDATE)
                gradient_steps += 1
                trace.update_steps.append(environment_steps)
                trace.batch_rows.append(len(batch.actions))
        progress.report(environment_steps)
    stopped = watch.stop(OTHER)
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes.finished,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=episodes.logs(space, np.array(taken_by_all).reshape(-1, count), seed),
        further_metrics=watch.metrics(),
        further_counts=watch.counts(),
    )


def advantages_of(
    rewards: Tensor, dones: Tensor, values: Tensor, next_value: Tensor, next_done: Tensor
) -> Tensor:
    """What `ppo.advantages_of` computes, by our module; arguments and result are that function's."""
    ended = torch.cat([dones[1:], next_done[None]])
    rewards_by_row, values_by_row, ended_by_row = (
        np.ascontiguousarray(each.double().numpy().T) for each in (rewards, values, ended)
    )
    last_values = next_value.double().numpy()
    advantages, _ = torchforge.compute_gae_batched(
        rewards_by_row, values_by_row, ended_by_row, last_values, work.GAMMA, work.GAE_LAMBDA
    )
    return torch.from_numpy(advantages).T.to(rewards.dtype)


def parity(given: Mapping[str, Tensor], updates: int, *, compiled: bool) -> dict[str, Tensor]:
    """The parity updates of `ppo.parity`, with our advantages."""
    prepare = compile_networks if compiled else None
    result = ppo.consecutive_updates(given, updates, look_back=advantages_of, prepare=prepare)
    exact = ppo.consecutive_updates(in_double_precision(given), updates, look_back=advantages_of)
    return with_exact(result, exact)


def compiling(parameters: Parameters) -> float:
    """Compile what the training calls, with networks to throw away; the seconds."""
    start = time.perf_counter()
    with gym.make(parameters.environment) as one:
        shape = tuple(one.observation_space.shape or ())
        space = one.action_space
    agent = ppo.make_agent(int(np.prod(shape)), int(getattr(space, "n", 1)))
    compile_networks(agent)
    with torch.no_grad():
        apart(agent)(torch.zeros(parameters.environments, *shape))
    rows = parameters.rollout_rows // parameters.minibatches
    numbers = [torch.linspace(0.0, 1.0, rows) for _ in range(4)]
    batch = Minibatch(torch.zeros(rows, *shape), torch.zeros(rows, dtype=torch.int64), *numbers)
    ppo.update(agent, ppo.make_optimizer(agent), batch)
    return time.perf_counter() - start


def chosen(words: frozenset[str]) -> Variant[Parameters]:
    """The training with these options."""
    compiled = "compiled" in words
    return Variant(
        train=partial(
            train,
            watching=phases.watch_of(words),
            convert=as_array if "arrays" in words else through_a_list,
            preallocated="preallocated" in words,
            acting=together if "fused" in words else apart,
            compiled=compiled,
        ),
        parity=partial(parity, compiled=compiled),
        compiling=compiling if compiled else None,
        library=PYTORCH,
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="phases-ppo-torchforge",
            description=__doc__,
            parameters=Parameters,
            by_hand=phases_ppo.BY_HAND,
            variant=chosen(frozenset()),
            options=OPTIONS,
            chosen=chosen,
        ),
        FIRST_LINE,
    )
