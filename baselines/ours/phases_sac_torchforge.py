"""`phases-sac`: SAC whose environment and replay buffer are our module's, and whose networks and updates are PyTorch's.

It is built as rlox's profiling report (2026-03-28) describes its own trainer: one environment, one transition pushed and
one minibatch drawn a step, targets moved tensor by tensor in a loop of Python. That trainer stepped Gymnasium's
environment; this one steps our module's, whose episodes are the same to the bit. An option is one of its recommendations,
and so are the several environments that a case may have. Networks, constants and the order of updates are the reference's
(`baselines/references/sac.py`).

By hand, from the repository's root:

    uv run --project baselines python -m baselines.ours.phases_sac_torchforge [--phases] [--foreach] [--compiled]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
import torchforge
from numpy.typing import NDArray
from torch import Tensor, nn

from baselines.benchmarks import phases, training
from baselines.benchmarks import sac as work
from baselines.benchmarks.action_log import ActionLog
from baselines.benchmarks.phases import Layer, MakeWatch, Phase, Watch
from baselines.benchmarks.sac import VectorParameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH, in_double_precision, with_exact
from baselines.contract import protocol
from baselines.ours.phases_ppo_torchforge import Episodes
from baselines.references import sac
from baselines.references.replay_buffer import Batch, Truncations
from baselines.references.sac import Bounds

PHASES = (
    Phase("environment", Layer.RUST),
    Phase("acting", Layer.PYTORCH),
    Phase("conversion", Layer.PYTHON),
    Phase("push", Layer.RUST),
    Phase("episodes", Layer.PYTHON),
    Phase("sampling", Layer.RUST),
    Phase("targets", Layer.PYTORCH),
    Phase("critics", Layer.PYTORCH),
    Phase("actor", Layer.PYTORCH),
    Phase("temperature", Layer.PYTORCH),
    Phase("polyak", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
(
    ENVIRONMENT,
    ACTING,
    CONVERSION,
    PUSH,
    EPISODES,
    SAMPLING,
    TARGETS,
    CRITICS,
    ACTOR,
    TEMPERATURE,
    POLYAK,
    OTHER,
) = range(len(PHASES))

OPTIONS = phases.OPTION | {
    "foreach": "move all targets by one call of PyTorch's foreach functions",
    "compiled": "all networks by torch.compile while learning; needs g++ and the headers of Python and PyTorch",
}

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

Move = Callable[[nn.ModuleDict], None]
Ended = Callable[[int], None]


def move_by_foreach(networks: nn.ModuleDict) -> None:
    """Move the target critics a little towards the critics, all tensors in one call."""
    targets = [each for name in work.CRITICS for each in networks[f"{name}_target"].parameters()]
    critics = [each for name in work.CRITICS for each in networks[name].parameters()]
    with torch.no_grad():
        torch._foreach_lerp_(targets, critics, work.TAU)


def batch_of(minibatch: torchforge.Minibatch) -> Batch:
    """The minibatch as tensors over the same memory."""
    return Batch(
        observations=torch.from_numpy(minibatch.observations),
        next_observations=torch.from_numpy(minibatch.next_observations),
        actions=torch.from_numpy(minibatch.actions),
        rewards=torch.from_numpy(minibatch.rewards),
        terminations=torch.from_numpy(minibatch.terminated),
    )


def sample(
    actor: nn.ModuleDict, bounds: Bounds, observations: Tensor, noise: Tensor
) -> tuple[Tensor, Tensor]:
    """What `sac.sample` computes. The density is written out, because PyTorch's distributions make no whole program."""
    hidden = nn.functional.relu(actor["fc1"](observations))
    hidden = nn.functional.relu(actor["fc2"](hidden))
    log_std = torch.tanh(actor["fc_logstd"](hidden))
    log_std = work.LOG_STD_MIN + 0.5 * (work.LOG_STD_MAX - work.LOG_STD_MIN) * (log_std + 1)
    squashed = torch.tanh(actor["fc_mean"](hidden) + noise * log_std.exp())
    density = -0.5 * noise.pow(2) - log_std - HALF_LOG_TWO_PI
    correction = torch.log(bounds.scale * (1 - squashed.pow(2)) + work.LOG_EPSILON)
    return squashed * bounds.scale + bounds.bias, (density - correction).sum(1, keepdim=True)


def wanted_of(networks: nn.ModuleDict, bounds: Bounds, batch: Batch, alpha: Tensor, noise: Tensor) -> Tensor:
    """What `sac.wanted_of` computes."""
    actions, log_probabilities = sample(networks["actor"], bounds, batch.next_observations, noise)
    values = torch.min(
        sac.value_of(networks["qf1_target"], batch.next_observations, actions),
        sac.value_of(networks["qf2_target"], batch.next_observations, actions),
    )
    continues = (1 - batch.terminations.flatten()) * work.GAMMA
    return batch.rewards.flatten() + continues * (values - alpha * log_probabilities).view(-1)


def critics_loss(networks: nn.ModuleDict, batch: Batch, wanted: Tensor) -> Tensor:
    """The sum of both critics' squared errors."""
    values = [
        sac.value_of(networks[name], batch.observations, batch.actions).view(-1) for name in work.CRITICS
    ]
    first, second = (nn.functional.mse_loss(each, wanted) for each in values)
    return first + second


def actor_loss(
    networks: nn.ModuleDict, bounds: Bounds, observations: Tensor, alpha: Tensor, noise: Tensor
) -> Tensor:
    """What the actor is to make small."""
    actions, log_probabilities = sample(networks["actor"], bounds, observations, noise)
    values = torch.min(
        sac.value_of(networks["qf1"], observations, actions),
        sac.value_of(networks["qf2"], observations, actions),
    )
    return ((alpha * log_probabilities) - values).mean()


def noise_of(bounds: Bounds, observations: Tensor) -> Tensor:
    """Normal noise for so many actions, drawn as the reference draws it."""
    return torch.randn(len(observations), bounds.scale.numel())


class Programs:
    """The reference's gradient steps, with all networks forwards and backwards by torch.compile.

    Optimisers and the draws of noise stay outside. The signatures of the steps are the reference's.
    """

    def __init__(self) -> None:
        """Nothing is compiled before the first calls; networks of the same sizes share what is compiled."""
        compiled = partial(torch.compile, fullgraph=True, dynamic=False)
        self._sample, self._wanted = compiled(sample), compiled(wanted_of)
        self._critics_loss, self._actor_loss = compiled(critics_loss), compiled(actor_loss)

    def wanted_of(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        batch: Batch,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """What the critics are to say of a minibatch."""
        noise = noise_of(bounds, batch.observations) if noise is None else noise
        with torch.no_grad():
            wanted: Tensor = self._wanted(networks, bounds, batch, torch.tensor(alpha), noise)
        return wanted

    def fit_critics(
        self, networks: nn.ModuleDict, optimizer: torch.optim.Adam, batch: Batch, wanted: Tensor
    ) -> Tensor:
        """One gradient step of both critics."""
        return stepped(self._critics_loss(networks, batch, wanted), optimizer)

    def update_critics(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        batch: Batch,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of both critics towards what the targets say of a minibatch."""
        wanted = self.wanted_of(networks, bounds, batch, alpha, noise)
        return self.fit_critics(networks, optimizer, batch, wanted)

    def update_actor(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        observations: Tensor,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of the actor."""
        noise = noise_of(bounds, observations) if noise is None else noise
        return stepped(
            self._actor_loss(networks, bounds, observations, torch.tensor(alpha), noise), optimizer
        )

    def update_temperature(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        observations: Tensor,
        temperature: sac.Temperature,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of the temperature."""
        noise = noise_of(bounds, observations) if noise is None else noise
        with torch.no_grad():
            _, log_probabilities = self._sample(networks["actor"], bounds, observations, noise)
        entropies = log_probabilities + temperature.target_entropy
        loss = stepped((-temperature.log_alpha.exp() * entropies).mean(), optimizer)
        temperature.alpha = temperature.log_alpha.exp().item()
        return loss

    @property
    def steps(self) -> sac.Steps:
        """The gradient steps for the parity updates."""
        return sac.Steps(self.update_critics, self.update_actor, self.update_temperature)


def stepped(loss: Tensor, optimizer: torch.optim.Adam) -> Tensor:
    """The loss, after a gradient step that makes it smaller."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


class Updates(Protocol):
    """The gradient steps of a training: the functions of the reference's module, or compiled ones."""

    wanted_of: Callable[..., Tensor]
    fit_critics: Callable[..., Tensor]
    update_actor: Callable[..., Tensor]
    update_temperature: Callable[..., Tensor]


class Played:
    """What the environments did: all that a training needs of them, whether one steps alone or several together.

    Attributes:
        observations: what is seen now, (environments, values).
        episodes: those that ended, in the order of the steps of all.
        ends: of each environment, the steps that it had taken when its episodes ended.
        truncated: what the buffer holds of steps that cut an episode off.
    """

    observations: NDArray[np.float32]
    episodes: list[training.Episode]
    ends: list[list[int]]

    def __init__(self, buffer: torchforge.ReplayBuffer) -> None:
        self.truncated = Truncations()
        self._buffer = buffer

    def step(self, step: int, actions: NDArray[np.float32], ended: Ended) -> None:
        """Take a step of all environments, (environments, values), and keep it in the buffer.

        Args:
            step: the number of the first environment's, among the steps of all.
            actions: of each.
            ended: hears of each border.
        """
        raise NotImplementedError

    def _note(self, step: int, last_observation: NDArray[np.float32]) -> None:
        """Read back the transition of a step that cut an episode off."""
        row = step % self._buffer.capacity
        _, stored, _, _, stored_end, _ = self._buffer.rows(row, row + 1)
        self.truncated.note((stored[0], float(stored_end[0])), last_observation)


class Alone(Played):
    """One environment: a step is pushed by itself."""

    def __init__(
        self, parameters: VectorParameters, seed: int, buffer: torchforge.ReplayBuffer, watch: Watch
    ) -> None:
        super().__init__(buffer)
        environment = torchforge.make(parameters.environment)
        self._take_step = watch.crossing("environment_step", environment.step)
        self._reset = watch.crossing("environment_reset", environment.reset)
        self._push = watch.crossing("push", buffer.push)
        self.observations = environment.reset(seed=seed)[0][None]
        self.episodes = []
        self.ends = [[]]
        self._length, self._total = 0, 0.0

    def step(self, step: int, actions: NDArray[np.float32], ended: Ended) -> None:
        """Take a step, and push it."""
        next_observation, reward, terminated, cut_off, _ = self._take_step(actions[0])
        ended(ENVIRONMENT)
        self._push(self.observations[0], next_observation, actions[0], reward, terminated, cut_off)
        ended(PUSH)
        self._length += 1
        self._total += reward
        if cut_off and not terminated:
            self._note(step, next_observation)
        if terminated or cut_off:
            self.episodes.append(training.Episode(step, self._length, self._total))
            self.ends[0].append(step + 1)
            self._length, self._total = 0, 0.0
            ended(EPISODES)
            next_observation, _ = self._reset()
            ended(ENVIRONMENT)
        else:
            ended(EPISODES)
        self.observations = next_observation[None]


class Together(Played):
    """Several environments that one call steps, and whose steps one call keeps."""

    def __init__(
        self, parameters: VectorParameters, seed: int, buffer: torchforge.ReplayBuffer, watch: Watch
    ) -> None:
        super().__init__(buffer)
        environments = torchforge.make_vec(parameters.environment, parameters.environments, "SameStep")
        self._take_step = watch.crossing("environment_step", environments.step)
        self._extend = watch.crossing("extend", buffer.extend)
        self.observations, _ = environments.reset(seed=seed)
        self._played = Episodes(parameters.environments)
        self.episodes, self.ends = self._played.finished, self._played.ends

    def step(self, step: int, actions: NDArray[np.float32], ended: Ended) -> None:
        """Take a step of all, and keep all."""
        following, rewards, terminated, cut_off, info = self._take_step(actions)
        ended(ENVIRONMENT)
        over = terminated | cut_off
        last = following
        if over.any():
            # Where an episode ended, the next one has begun.
            last = following.copy()
            last[over] = info["final_obs"][over]
        rewards_as_kept = rewards.astype(np.float32)
        ended(CONVERSION)
        self._extend(self.observations, last, actions, rewards_as_kept, terminated, cut_off)
        ended(PUSH)
        for index in np.flatnonzero(cut_off & ~terminated).tolist():
            self._note(step + index, last[index])
        self._played.step(rewards, over)
        self.observations = following
        ended(EPISODES)


def train(  # noqa: PLR0915 - one loop, and a border is a statement
    parameters: VectorParameters,
    seed: int,
    *,
    watching: MakeWatch,
    updates: Updates,
    move: Move,
) -> Trained:
    """Train an actor; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on, of the action space and of the buffer's draws; that of
            networks and noise is PyTorch's own.
        watching: makes the watch.
        updates: the gradient steps.
        move: moves the targets.
    """
    count = parameters.environments
    with gym.make(parameters.environment) as one:
        observation_shape = tuple(one.observation_space.shape or ())
        space = one.action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    space.seed(seed)
    width, action_width = int(np.prod(observation_shape)), int(np.prod(space.shape))
    networks = sac.make_networks(width, action_width, parameters.hidden)
    bounds = sac.bounds_of(space)
    temperature = sac.Temperature(torch.zeros(1), work.target_entropy(action_width))
    optimizers = sac.make_optimizers(networks, temperature)
    buffer = torchforge.ReplayBuffer(work.BUFFER_SIZE, width, action_width, seed=seed)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    environment_steps = gradient_steps = 0
    taken: list[NDArray[np.float32]] = []
    trace = sac.Trace(buffer_capacity=[buffer.capacity], hidden=sac.widths(networks))
    initial = sac.initial_bounds(networks)

    watch = watching(PHASES)
    played = (Alone if count == 1 else Together)(parameters, seed, buffer, watch)
    draw = watch.crossing("sample", buffer.sample)
    ended = watch.ended
    started = watch.start()
    for step in range(parameters.steps):
        # All environments step together, in the step of the first. Updates follow in the steps of each.
        if step % count == 0:
            # Act: at random until learning starts, then as the actor does.
            if step < parameters.learning_starts:
                actions = np.array([space.sample() for _ in range(count)])
                ended(ACTING)
            else:
                seen = torch.from_numpy(played.observations)
                ended(CONVERSION)
                with torch.no_grad():
                    drawn, _ = sac.sample(networks["actor"], bounds, seen)
                ended(ACTING)
                actions = drawn.numpy()
                ended(CONVERSION)
            played.step(step, actions, ended)
            environment_steps += count
            taken.append(actions)

        # Learn.
        if step > parameters.learning_starts:
            minibatch = draw(parameters.batch)
            ended(SAMPLING)
            batch = batch_of(minibatch)
            ended(CONVERSION)
            wanted = updates.wanted_of(networks, bounds, batch, temperature.alpha)
            ended(TARGETS)
            updates.fit_critics(networks, optimizers.critics, batch, wanted)
            ended(CRITICS)
            gradient_steps += 1
            trace.update_steps.append(step)
            trace.buffer_rows.append(len(buffer))
            trace.batch_rows.append(len(batch.actions))
            if step % work.POLICY_FREQUENCY == 0:
                for _ in range(work.POLICY_FREQUENCY):
                    given = batch.observations
                    ended(OTHER)
                    updates.update_actor(networks, bounds, optimizers.actor, given, temperature.alpha)
                    ended(ACTOR)
                    trace.policy_steps.append(step)
                    updates.update_temperature(networks, bounds, optimizers.temperature, given, temperature)
                    ended(TEMPERATURE)
            ended(OTHER)
            if step % work.TARGET_NETWORK_FREQUENCY == 0:
                move(networks)
                ended(POLYAK)
                trace.target_steps.append(step)

        if step % work.STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
        ended(OTHER)
    stopped = watch.stop(OTHER)
    actions_by_environment = np.array(taken)
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=played.episodes,
        weights=networks.state_dict() | {"log_alpha": temperature.log_alpha},
        trace=trace.tensors() | played.truncated.tensors() | initial,
        logs=[
            ActionLog.of(space, actions_by_environment[:, index], played.ends[index], seed + index)
            for index in range(count)
        ],
        further_metrics=watch.metrics(),
        further_counts=watch.counts(),
    )


def parity(given: Mapping[str, Tensor], updates: int, *, move: Move, programs: Programs) -> dict[str, Tensor]:
    """The parity updates of `sac.parity`, by compiled networks; `exact.*` by plain ones."""
    result = sac.consecutive_updates(given, updates, move=move, steps=programs.steps)
    exact = sac.consecutive_updates(in_double_precision(given), updates, move=move)
    return with_exact(result, exact)


def compiling(parameters: VectorParameters, programs: Programs) -> float:
    """Compile what the training calls, with networks and a minibatch to throw away; the seconds."""
    start = time.perf_counter()
    with gym.make(parameters.environment) as one:
        width = int(np.prod(one.observation_space.shape or ()))
        space = one.action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    action_width = int(np.prod(space.shape))
    networks, bounds = sac.make_networks(width, action_width, parameters.hidden), sac.bounds_of(space)
    temperature = sac.Temperature(torch.zeros(1), work.target_entropy(action_width))
    optimizers = sac.make_optimizers(networks, temperature)
    # A program is of the shapes that it was made with, and those are what a buffer gives.
    buffer = torchforge.ReplayBuffer(1, width, action_width)
    seen, action = np.zeros(width, np.float32), np.zeros(action_width, np.float32)
    buffer.push(seen, seen, action, 0.0, False, False)
    batch = batch_of(buffer.sample(parameters.batch))
    critics, actor, of_temperature = programs.steps
    critics(networks, bounds, optimizers.critics, batch, temperature.alpha)
    actor(networks, bounds, optimizers.actor, batch.observations, temperature.alpha)
    of_temperature(networks, bounds, optimizers.temperature, batch.observations, temperature)
    return time.perf_counter() - start


def chosen(words: frozenset[str]) -> Variant[VectorParameters]:
    """The training with these options."""
    move = move_by_foreach if "foreach" in words else sac.move_targets
    trained = partial(train, watching=phases.watch_of(words), move=move)
    if "compiled" not in words:
        plain: Updates = sac
        return Variant(
            train=partial(trained, updates=plain), parity=partial(sac.parity, move=move), library=PYTORCH
        )
    programs = Programs()
    return Variant(
        train=partial(trained, updates=programs),
        parity=partial(parity, move=move, programs=programs),
        compiling=partial(compiling, programs=programs),
        library=PYTORCH,
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="phases-sac-torchforge",
            description=__doc__,
            parameters=VectorParameters,
            by_hand=work.BY_HAND,
            variant=chosen(frozenset()),
            options=OPTIONS,
            chosen=chosen,
        ),
        FIRST_LINE,
    )
