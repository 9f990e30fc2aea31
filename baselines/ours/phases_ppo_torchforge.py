"""`phases-ppo`: PPO whose environments and advantages are our module's, and whose networks and updates are PyTorch's.

It is built as rlox's profiling report (2026-03-28) describes its own trainer: a loop in Python asks the actor and then
the critic, takes one step of all environments in one call, and looks back over the whole rollout in one call. That
trainer hands its actions over as a list and keeps a rollout as lists of tensors; so does this one without options. Each
option is one recommendation of that report. Networks, constants and draws are those of `baselines/references/ppo.py`.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.ours.phases_ppo_torchforge [--phases] [--arrays] [--collect]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
import torchforge
from torch import Tensor, nn
from torch.distributions.categorical import Categorical

from baselines.benchmarks import phases, training
from baselines.benchmarks import ppo as work
from baselines.benchmarks.phases import MakeWatch
from baselines.benchmarks.ppo import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH, in_double_precision, with_exact
from baselines.contract import protocol
from baselines.ours.phases_ppo_rollouts import (
    ACTING,
    ADVANTAGES,
    CONVERSION,
    MINIBATCHES,
    OTHER,
    PHASES,
    STORING,
    UPDATE,
    Act,
    Convert,
    InOneCall,
    Lists,
    Player,
    Preallocated,
    StepByStep,
    as_array,
    through_a_list,
)
from baselines.references import phases_ppo, ppo
from baselines.references.ppo import Minibatch

OPTIONS = phases.OPTION | {
    "arrays": "hand actions over as arrays, without a list in between",
    "preallocated": "write a rollout into arrays that were made before",
    "collect": "play a rollout by one call, which asks the agent at every step",
    "fused": "actor and critic in one forward pass while collecting, their hidden layers stacked once a rollout",
    "compiled": "actor and critic by torch.compile; needs g++ and the headers of Python and PyTorch",
}


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
    convert: Convert,
    preallocated: bool,
    in_one_call: bool,
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
        in_one_call: whether a rollout is played by one call of our module, and not step by step.
        acting: says once a rollout how the agent is asked.
        compiled: whether the networks are compiled.
    """
    observation_shape, space = spaces_of(parameters.environment)
    agent = ppo.make_agent(int(np.prod(observation_shape)), int(space.n))
    if compiled:
        compile_networks(agent)
    optimizer = ppo.make_optimizer(agent)
    rows = parameters.rollout_rows
    minibatch_rows = rows // parameters.minibatches
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    gradient_steps = 0
    trace = ppo.Trace()
    initial = ppo.initial_weights(agent)

    watch = watching(PHASES)
    player: Player
    if in_one_call:
        player = InOneCall(parameters, watch, convert)
    else:
        rollout = Preallocated(parameters, observation_shape) if preallocated else Lists()
        player = StepByStep(parameters, watch, convert, rollout)
    played = player.played
    look_back = watch.crossing("advantages", torchforge.compute_gae_batched)
    ended_at = watch.ended
    seen = player.reset(seed)
    started = watch.start()
    for iteration in range(1, parameters.iterations + 1):
        optimizer.param_groups[0]["lr"] = ppo.annealed(iteration, parameters.iterations)
        ended_at(OTHER)

        # Act.
        seen = player.play(acting(agent), seen)

        # Look back.
        with torch.no_grad():
            next_values = agent["critic"](seen).view(-1)
        ended_at(ACTING)
        collected = player.whole()
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

        flags = np.vstack([played.ended_before[:1], collected.ended_by_row.T]).astype(np.float32)
        trace.iteration(optimizer.param_groups[0]["lr"], flags, played.ended_before)
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
                trace.update_steps.append(played.environment_steps)
                trace.batch_rows.append(len(batch.actions))
        progress.report(played.environment_steps)
    stopped = watch.stop(OTHER)
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=played.environment_steps,
        gradient_steps=gradient_steps,
        episodes=played.episodes.finished,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=played.episodes.logs(space, np.array(played.actions).reshape(-1, parameters.environments), seed),
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
    if {"collect", "preallocated"} <= words:
        protocol.refuse("--collect makes the arrays of a rollout itself; leave --preallocated out")
    compiled = "compiled" in words
    return Variant(
        train=partial(
            train,
            watching=phases.watch_of(words),
            convert=as_array if "arrays" in words else through_a_list,
            preallocated="preallocated" in words,
            in_one_call="collect" in words,
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
