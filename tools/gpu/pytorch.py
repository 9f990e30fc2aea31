"""CleanRL's DQN, PPO and SAC on a GPU: the references' own functions, with networks and minibatches on the device.

    python3 -m tools.gpu.pytorch dqn [--device cuda] [--graph] --case dqn --parameters JSON --seed 1 --output DIR

CleanRL itself trains on the GPU where there is one. With `--graph` the tuned training's loop drives updates that are
captured as CUDA graphs, as LeanRL captures them.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import argparse
import dataclasses
import random
import sys
import time
from collections.abc import Callable
from typing import Any

FIRST_LINE = time.perf_counter()

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from baselines.benchmarks import dqn as dqn_work
from baselines.benchmarks import ppo as ppo_work
from baselines.benchmarks import sac as sac_work
from baselines.benchmarks import training
from baselines.benchmarks.training import Episode, Trained
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.references import dqn, ppo, sac
from baselines.references.replay_buffer import Batch, ReplayBuffer
from tools.gpu import graphs

WORKS: dict[str, Any] = {"dqn": dqn_work, "ppo": ppo_work, "sac": sac_work}
Act = Callable[[int, NDArray[Any]], NDArray[Any]]
"""Actions of all environments for a step's number and observations."""
Learn = Callable[[int, Callable[[int], Batch]], int]
"""Learns after a step's number from minibatches of so many rows; returns how many gradient steps it took."""


def off_policy(
    environments: Any,
    buffer: ReplayBuffer,
    seed: int,
    steps: int,
    act: Act,
    learn: Learn,
    device: torch.device,
) -> Trained:
    """The loop of DQN and SAC, as in the references."""
    episodes: list[Episode] = []
    gradient_steps = 0
    observations, _ = environments.reset(seed=seed)
    graphs.finish(device)
    started = time.perf_counter()
    for step in range(steps):
        actions = act(step, observations)
        next_observations, rewards, terminations, truncations, infos = environments.step(actions)
        episodes += training.episodes_of(infos, step)
        real_next_observations = next_observations.copy()
        if truncations[0]:
            real_next_observations[0] = infos["final_obs"][0]
        buffer.add(observations, real_next_observations, actions, rewards, terminations)
        observations = next_observations
        gradient_steps += learn(step, lambda rows: Batch(*(each.to(device) for each in buffer.sample(rows))))
    graphs.finish(device)
    return told(started, steps, gradient_steps, episodes)


def told(started: float, steps: int, gradient_steps: int, episodes: list[Episode]) -> Trained:
    """What a training leaves here, at the end of its loop: no weights, because nothing compares them."""
    return Trained(
        started=started,
        ended=time.perf_counter(),
        environment_steps=steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights={},
        trace={},
        logs=[],
    )


def train_dqn(device: torch.device, parameters: dqn_work.Parameters, seed: int) -> Trained:
    """As `dqn.train`, on a device."""
    environments = dqn.make_environments(parameters.environment, seed)
    sizes = (*dqn.observation_shape(environments), dqn.action_count(environments))
    online, target = dqn.make_network(*sizes).to(device), dqn.make_network(*sizes).to(device)
    target.load_state_dict(online.state_dict())
    optimizer = dqn.make_optimizer(online)
    exploration = dqn_work.EXPLORATION_FRACTION * parameters.steps

    def greedy(observations: NDArray[Any]) -> NDArray[Any]:
        values = online(torch.Tensor(observations).to(device))
        return np.asarray(torch.argmax(values, dim=1).cpu().numpy())

    def act(step: int, observations: NDArray[Any]) -> NDArray[Any]:
        epsilon = dqn.linear_schedule(dqn_work.START_EPSILON, dqn_work.END_EPSILON, exploration, step)
        if random.random() < epsilon:  # noqa: S311 - exploration
            return np.array([environments.single_action_space.sample()])
        return greedy(observations)

    def learn(step: int, sample: Callable[[int], Batch]) -> int:
        if step <= parameters.learning_starts:
            return 0
        learns = step % parameters.train_frequency == 0
        if learns:
            dqn.update(online, target, optimizer, sample(dqn_work.BATCH_SIZE))
        if step % dqn_work.TARGET_NETWORK_FREQUENCY == 0:
            dqn.copy_weights(online, target)
        return int(learns)

    warm, warm_target = (dqn.make_network(*sizes).to(device) for _ in range(2))
    rows = dqn_work.BATCH_SIZE
    nothing = graphs.empty_batch(rows, sizes[0], 1, device)._replace(
        actions=torch.zeros(rows, 1, dtype=torch.int64, device=device)
    )
    for _ in range(graphs.WARM_CALLS):
        greedy(np.zeros((1, sizes[0])))
        dqn.update(warm, warm_target, dqn.make_optimizer(warm), nothing)
    buffer = ReplayBuffer(dqn_work.BUFFER_SIZE, (sizes[0],), (1,), np.int64)
    return off_policy(environments, buffer, seed, parameters.steps, act, learn, device)


class Sac:
    """SAC's networks on a device with the reference's updates. Noise is drawn there, as CleanRL draws it."""

    def __init__(self, environments: Any, parameters: sac_work.Parameters, device: torch.device) -> None:
        space = sac.action_space_of(environments)
        self.device = device
        self.shape = tuple(environments.single_observation_space.shape or ())
        self.actions = int(np.prod(space.shape))
        self.bounds = sac.Bounds(*(each.to(device) for each in sac.bounds_of(space)))
        inputs = int(np.prod(self.shape))
        self.networks = sac.make_networks(inputs, self.actions, parameters.hidden).to(device)
        entropy = sac_work.target_entropy(self.actions)
        self.temperature = sac.Temperature(torch.zeros(1, device=device), entropy)
        self.optimizers = sac.make_optimizers(self.networks, self.temperature)

    def noise(self, rows: int) -> Tensor:
        """Normal numbers (rows, actions)."""
        return torch.randn(rows, self.actions, device=self.device)

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Drawn actions."""
        given = torch.Tensor(observations).to(self.device)
        actions, _ = sac.sample(self.networks["actor"], self.bounds, given, self.noise(len(given)))
        return np.asarray(actions.detach().cpu().numpy())

    def update(self, batch: Batch, step: int) -> None:
        """All that is learnt after a step."""
        given, rows = batch.observations, len(batch.observations)
        networks, bounds = self.networks, self.bounds
        optimizers, temperature = self.optimizers, self.temperature
        sac.update_critics(networks, bounds, optimizers.critics, batch, temperature.alpha, self.noise(rows))
        if step % sac_work.POLICY_FREQUENCY == 0:
            for _ in range(sac_work.POLICY_FREQUENCY):
                noise = self.noise(rows)
                sac.update_actor(networks, bounds, optimizers.actor, given, temperature.alpha, noise)
                noise = self.noise(rows)
                sac.update_temperature(networks, bounds, optimizers.temperature, given, temperature, noise)
        if step % sac_work.TARGET_NETWORK_FREQUENCY == 0:
            sac.move_targets(networks)


def train_sac(device: torch.device, parameters: sac_work.Parameters, seed: int) -> Trained:
    """As `sac.train`, on a device."""
    environments = sac.make_environments(parameters.environment, seed)
    space = sac.action_space_of(environments)
    agent, warm = (Sac(environments, parameters, device) for _ in range(2))
    for step in range(graphs.WARM_CALLS):
        warm.act(np.zeros((1, *agent.shape)))
        warm.update(graphs.empty_batch(parameters.batch, agent.shape[0], agent.actions, device), step)

    def act(step: int, observations: NDArray[Any]) -> NDArray[Any]:
        return np.array([space.sample()]) if step < parameters.learning_starts else agent.act(observations)

    def learn(step: int, sample: Callable[[int], Batch]) -> int:
        if step <= parameters.learning_starts:
            return 0
        agent.update(sample(parameters.batch), step)
        return 1

    buffer = ReplayBuffer(sac_work.BUFFER_SIZE, agent.shape, space.shape, np.float32)
    return off_policy(environments, buffer, seed, parameters.steps, act, learn, device)


def train_ppo(device: torch.device, parameters: ppo_work.Parameters, seed: int) -> Trained:
    """As `ppo.train`, on a device."""
    # A short course beforehand makes the device ready; what it learns is thrown away.
    _ppo(device, dataclasses.replace(parameters, iterations=1), seed)
    return _ppo(device, parameters, seed)


def _ppo(device: torch.device, parameters: ppo_work.Parameters, seed: int) -> Trained:
    environments = ppo.make_environments(parameters.environment, parameters.environments)
    agent = ppo.make_agent(*ppo.sizes_of(environments)).to(device)
    optimizer = ppo.make_optimizer(agent)
    steps, rows = parameters.rollout_steps, parameters.rollout_rows
    shape = (steps, parameters.environments)
    inputs = tuple(environments.single_observation_space.shape or ())
    zeros = (torch.zeros(shape, device=device) for _ in range(5))
    rollout = ppo.Rollout(torch.zeros(*shape, *inputs, device=device), *zeros)
    environment_steps = gradient_steps = 0
    episodes: list[Episode] = []
    next_observations = torch.Tensor(environments.reset(seed=seed)[0]).to(device)
    next_done = torch.zeros(parameters.environments, device=device)
    graphs.finish(device)
    started = time.perf_counter()
    for iteration in range(1, parameters.iterations + 1):
        optimizer.param_groups[0]["lr"] = ppo.annealed(iteration, parameters.iterations)
        for step in range(steps):
            environment_steps += parameters.environments
            rollout.observations[step] = next_observations
            rollout.dones[step] = next_done
            with torch.no_grad():
                actions, log_probabilities, _, values = ppo.act(agent, next_observations)
                rollout.values[step] = values.flatten()
            rollout.actions[step] = actions
            rollout.log_probabilities[step] = log_probabilities
            observations, rewards, terminations, truncations, infos = environments.step(actions.cpu().numpy())
            rollout.rewards[step] = torch.tensor(rewards).to(device).view(-1)
            next_observations = torch.Tensor(observations).to(device)
            next_done = torch.Tensor(np.logical_or(terminations, truncations)).to(device)
            episodes += training.episodes_of(infos, environment_steps - parameters.environments)
        with torch.no_grad():
            next_value = agent["critic"](next_observations).flatten()
            advantages = ppo.advantages_of(
                rollout.rewards, rollout.dones, rollout.values, next_value, next_done
            )
        flat = ppo.Minibatch(
            observations=rollout.observations.reshape(-1, *inputs),
            actions=rollout.actions.reshape(-1).long(),
            log_probabilities=rollout.log_probabilities.reshape(-1),
            advantages=advantages.reshape(-1),
            returns=(advantages + rollout.values).reshape(-1),
            values=rollout.values.reshape(-1),
        )
        order = np.arange(rows)
        for _ in range(parameters.epochs):
            np.random.shuffle(order)
            for chosen in np.split(order, parameters.minibatches):
                ppo.update(agent, optimizer, ppo.Minibatch(*(each[chosen] for each in flat)))
                gradient_steps += 1
    graphs.finish(device)
    return told(started, environment_steps, gradient_steps, episodes)


PLAIN: dict[str, Any] = {"dqn": train_dqn, "ppo": train_ppo, "sac": train_sac}


def main() -> None:
    """Serve the case that the contract's words name."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("training", choices=WORKS)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--graph", action="store_true")
    options, sys.argv[1:] = parser.parse_known_args()
    device = torch.device(options.device)
    train = (graphs.TRAIN if options.graph else PLAIN)[options.training]
    # Nothing reads a training's weights here.
    library = dataclasses.replace(PYTORCH, array=lambda tensor: PYTORCH.array(tensor.cpu()))
    variant: training.Variant[Any] = training.Variant(
        train=lambda parameters, seed: train(device, parameters, seed), parity=None, library=library
    )
    training.main(
        training.Algorithm(
            name=f"{options.training}-{options.device}",
            description=__doc__,
            parameters=WORKS[options.training].Parameters,
            by_hand=WORKS[options.training].BY_HAND,
            variant=variant,
        ),
        FIRST_LINE,
    )


if __name__ == "__main__":
    main()
