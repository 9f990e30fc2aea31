"""SAC as fast as PyTorch does it: the work of `baselines/references/sac.py`, by eager PyTorch or with --compile.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.tuned.sac [--seed 1] [--steps 20000] [--compile]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from baselines.benchmarks import sac as work
from baselines.benchmarks import training
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.references import sac
from baselines.references.replay_buffer import Batch, Truncations
from baselines.references.sac import Bounds
from baselines.tuned.adam import CompiledAdam, FusedAdam, State, adam
from baselines.tuned.compiling import compiled, seconds_of, unguarded
from baselines.tuned.direct_environment import DirectEnvironment
from baselines.tuned.networks import dense, detached
from baselines.tuned.ring import Ring

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

Weights = Sequence[Tensor]


def policy(actor: Weights, observations: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and logarithm of the standard deviation, (n, actions) each."""
    hidden = dense(actor[:4], observations, torch.relu).relu()
    mean = nn.functional.linear(hidden, actor[4], actor[5])
    log_std = nn.functional.linear(hidden, actor[6], actor[7]).tanh()
    return mean, work.LOG_STD_MIN + 0.5 * (work.LOG_STD_MAX - work.LOG_STD_MIN) * (log_std + 1)


def sample(mean: Tensor, log_std: Tensor, noise: Tensor, bounds: Bounds) -> tuple[Tensor, Tensor]:
    """Actions (n, actions) and their log-probabilities (n,): the density of the noise, put in simply."""
    squashed = (mean + noise * log_std.exp()).tanh()
    log_density = -0.5 * noise * noise - log_std - HALF_LOG_TWO_PI
    correction = (bounds.scale * (1 - squashed * squashed) + work.LOG_EPSILON).log()
    return squashed * bounds.scale + bounds.bias, (log_density - correction).sum(dim=1)


def value_of(critic: Weights, rows: Tensor) -> Tensor:
    """Values (n,) of observations with actions beside them (n, ...)."""
    return dense(critic, rows, torch.relu).view(-1)


def smaller_value(critics: Weights, observations: Tensor, actions: Tensor) -> Tensor:
    """The smaller of both critics' values (n,)."""
    rows = torch.cat([observations, actions], 1)
    return torch.minimum(value_of(critics[:6], rows), value_of(critics[6:], rows))


def wanted_of(
    actor: Weights, targets: Weights, alpha: Tensor, batch: Batch, noise: Tensor, bounds: Bounds
) -> Tensor:
    """What the critics are to say of a minibatch (n,)."""
    actions, logs = sample(*policy(actor, batch.next_observations), noise, bounds)
    following = smaller_value(targets, batch.next_observations, actions) - alpha * logs
    return batch.rewards.view(-1) + (1 - batch.terminations.view(-1)) * work.GAMMA * following


def critic_loss(critics: Weights, batch: Batch, wanted: Tensor) -> Tensor:
    """The sum of both critics' mean squared errors."""
    rows = torch.cat([batch.observations, batch.actions], 1)
    first, second = value_of(critics[:6], rows), value_of(critics[6:], rows)
    return nn.functional.mse_loss(first, wanted) + nn.functional.mse_loss(second, wanted)


def actor_loss(
    mean: Tensor,
    log_std: Tensor,
    noise: Tensor,
    critics: Weights,
    alpha: Tensor,
    observations: Tensor,
    bounds: Bounds,
) -> Tensor:
    """What the actor is to make small: more entropy, higher values."""
    actions, logs = sample(mean, log_std, noise, bounds)
    return (alpha * logs - smaller_value(critics, observations, actions)).mean()


Rounds = list[tuple[Tensor, Sequence[Tensor], Tensor, Tensor]]


class Learner:
    """All networks, the temperature, and updates of them.

    An update returns the critics' loss with their gradients. For every round of actor and temperature it returns the
    actor's loss with its gradients, the temperature's loss (which is its gradient), and alpha.
    """

    def __init__(self, networks: nn.ModuleDict, log_alpha: Tensor, bounds: Bounds) -> None:
        self.bounds = bounds
        self.target_entropy = work.target_entropy(bounds.scale.numel())
        self.log_alpha = log_alpha
        self.actor_parameters = list(networks["actor"].parameters())
        self.critic_parameters = [each for name in work.CRITICS for each in networks[name].parameters()]
        self.actor = detached(self.actor_parameters)
        self.critics = detached(self.critic_parameters)
        self.targets = detached(
            [each for name in work.CRITICS for each in networks[f"{name}_target"].parameters()]
        )
        self.optimizers = [
            FusedAdam(weights, rate)
            for weights, rate in (
                (self.critics, work.CRITIC_LEARNING_RATE),
                (self.actor, work.POLICY_LEARNING_RATE),
                ([self.log_alpha], work.ALPHA_LEARNING_RATE),
            )
        ]

    def act(self, observation: Tensor) -> Tensor:
        """An action (1, actions) for an observation (1, n), drawn."""
        mean, log_std = policy(self.actor, observation)
        noise = torch.randn(mean.shape)
        return (mean + noise * log_std.exp()).tanh() * self.bounds.scale + self.bounds.bias

    def update_critics(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        """One gradient step of both critics."""
        wanted = wanted_of(self.actor, self.targets, self.log_alpha.exp(), batch, noise, self.bounds)
        loss = critic_loss(self.critic_parameters, batch, wanted)
        gradients = torch.autograd.grad(loss, self.critic_parameters)
        self.optimizers[0].step(gradients)
        return loss.detach(), gradients

    def update_policy(self, observations: Tensor, noises: Sequence[tuple[Tensor, Tensor]]) -> Rounds:
        """Rounds of one gradient step of the actor and one of the temperature, a pair of noises each.

        Between a step of the temperature and the actor's next one the actor stays as it is: what it says of the
        observations is computed once for both.
        """
        rounds = []
        mean, log_std = policy(self.actor_parameters, observations)
        for turn, (noise, fresh) in enumerate(noises, start=1):
            alpha = self.log_alpha.exp()
            loss = actor_loss(mean, log_std, noise, self.critics, alpha, observations, self.bounds)
            gradients = torch.autograd.grad(loss, self.actor_parameters)
            self.optimizers[1].step(gradients)
            mean, log_std = policy(self.actor if turn == len(noises) else self.actor_parameters, observations)
            with torch.no_grad():
                _, logs = sample(mean, log_std, fresh, self.bounds)
            # By the rules of exp, the loss is its own gradient.
            alpha_loss = -alpha * (logs + self.target_entropy).mean()
            self.optimizers[2].step([alpha_loss])
            rounds.append((loss.detach(), gradients, alpha_loss, self.log_alpha.exp()))
        return rounds

    def move_targets(self) -> None:
        """Move the target critics a little towards the critics."""
        torch._foreach_lerp_(self.targets, self.critics, work.TAU)


class CompiledLearner(Learner):
    """The same, with each kind of update in one compiled program."""

    def __init__(self, networks: nn.ModuleDict, log_alpha: Tensor, bounds: Bounds) -> None:
        super().__init__(networks, log_alpha, bounds)
        # The critics make one step in a program, actor and temperature as many as they have rounds.
        self.adams = [
            CompiledAdam(each.weights, each.learning_rate, together=steps)
            for each, steps in zip(
                self.optimizers, (1, work.POLICY_FREQUENCY, work.POLICY_FREQUENCY), strict=True
            )
        ]

    def update_critics(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        """One gradient step of both critics."""
        state = self.adams[0].next()
        loss, gradients = compiled_critics(
            state, self.actor, self.targets, self.log_alpha, batch, noise, self.bounds
        )
        return loss, gradients

    def update_policy(self, observations: Tensor, noises: Sequence[tuple[Tensor, Tensor]]) -> Rounds:
        """Rounds of one gradient step of the actor and one of the temperature, a pair of noises each."""
        rounds: Rounds = compiled_policy(
            [(self.adams[1].next(), self.adams[2].next(), *pair) for pair in noises],
            self.critics,
            observations,
            self.bounds,
            self.target_entropy,
        )
        return rounds


@compiled
def compiled_critics(
    state: State,
    actor: Weights,
    targets: Weights,
    log_alpha: Tensor,
    batch: Batch,
    noise: Tensor,
    bounds: Bounds,
) -> tuple[Tensor, Sequence[Tensor]]:
    """One gradient step of the critics, in place."""
    wanted = wanted_of(actor, targets, log_alpha.exp(), batch, noise, bounds)
    gradients, loss = torch.func.grad_and_value(critic_loss)(state[0], batch, wanted)
    adam(state, gradients)
    return loss, gradients


@compiled
def compiled_policy(
    rounds: Sequence[tuple[State, State, Tensor, Tensor]],
    critics: Weights,
    observations: Tensor,
    bounds: Bounds,
    target_entropy: float,
) -> Rounds:
    """Rounds of one gradient step of the actor and one of the temperature, in place.

    As in `Learner.update_policy`, what an actor says of the observations is computed once for both.
    """
    results = []
    actor, temperature = rounds[0][0][0], rounds[0][1][0][0]
    # By the chain rule in two halves, so that the next round's pass forwards serves the temperature before it.
    (mean, log_std), backwards = torch.func.vjp(lambda weights: policy(weights, observations), actor)
    for turn, (state, temperature_state, noise, fresh) in enumerate(rounds, start=1):
        alpha = temperature.exp()
        loss_of = torch.func.grad_and_value(actor_loss, argnums=(0, 1))
        told, loss = loss_of(mean, log_std, noise, critics, alpha, observations, bounds)
        (gradients,) = backwards(told)
        adam(state, gradients)
        if turn < len(rounds):
            (mean, log_std), backwards = torch.func.vjp(lambda weights: policy(weights, observations), actor)
        else:
            mean, log_std = policy(actor, observations)
        _, logs = sample(mean, log_std, fresh, bounds)
        alpha_loss = -alpha * (logs + target_entropy).mean()
        adam(temperature_state, [alpha_loss])
        results.append((loss, gradients, alpha_loss, temperature.exp()))
    return results


def train(make_learner: type[Learner], parameters: work.Parameters, seed: int) -> Trained:
    """As `sac.train`: the same draws in the same order."""
    environment = DirectEnvironment(parameters.environment)
    space = box(environment)
    space.seed(seed)
    shape, actions = environment.observation_shape, int(np.prod(space.shape))
    networks = sac.make_networks(int(np.prod(shape)), actions, parameters.hidden)
    bounds = sac.bounds_of(space)
    initial = sac.initial_bounds(networks)
    log_alpha = torch.zeros(1)
    learner = make_learner(networks, log_alpha, bounds)
    noise_shape = (parameters.batch, actions)
    ring = Ring(work.BUFFER_SIZE, shape, space.shape, np.float32)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace = sac.Trace(buffer_capacity=[len(ring.rewards)], hidden=sac.widths(networks))
    truncated = Truncations()

    # Not before the environment is made: NumPy would warn of numbers that are zero now.
    torch.set_flush_denormal(True)
    observation = environment.reset(seed)
    started = time.perf_counter()
    for step in range(parameters.steps):
        if step < parameters.learning_starts:
            action = space.sample()
        else:
            action = learner.act(torch.from_numpy(observation.astype(np.float32, copy=False)[None]))[
                0
            ].numpy()
        next_observation, reward, terminated, ended = environment.step(action)
        environment_steps += 1
        ring.add(observation, next_observation, action, reward, terminated=terminated)
        observation = next_observation
        if ended:
            if not terminated:
                truncated.note(ring.latest(), next_observation)
            episodes.append(environment.episode(step))
            observation = environment.reset()

        if step > parameters.learning_starts:
            batch = ring.sample(parameters.batch)
            learner.update_critics(batch, torch.randn(noise_shape))
            gradient_steps += 1
            trace.update_steps.append(step)
            trace.buffer_rows.append(ring.rows)
            trace.batch_rows.append(len(batch.actions))
            if step % work.POLICY_FREQUENCY == 0:
                noises = [
                    (torch.randn(noise_shape), torch.randn(noise_shape)) for _ in range(work.POLICY_FREQUENCY)
                ]
                trace.policy_steps += [step] * len(learner.update_policy(batch.observations, noises))
            if step % work.TARGET_NETWORK_FREQUENCY == 0:
                learner.move_targets()
                trace.target_steps.append(step)

        if step % work.STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
    return Trained(
        started=started,
        ended=time.perf_counter(),
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=networks.state_dict() | {"log_alpha": log_alpha},
        trace=trace.tensors() | truncated.tensors() | initial,
        logs=[environment.log],
    )


def compiling(parameters: work.Parameters) -> float:
    """The seconds to compile all updates, with a minibatch of nothing and networks to throw away."""
    environment = DirectEnvironment(parameters.environment)
    space = box(environment)
    inputs, actions = int(np.prod(environment.observation_shape)), int(np.prod(space.shape))
    learner = CompiledLearner(
        sac.make_networks(inputs, actions, parameters.hidden), torch.zeros(1), sac.bounds_of(space)
    )
    nothing, flags = torch.zeros(parameters.batch, inputs), torch.zeros(parameters.batch, 1)
    noise = torch.zeros(parameters.batch, actions)
    batch = Batch(nothing, nothing.clone(), noise.clone(), flags, flags.clone())
    return seconds_of(
        lambda: (
            learner.update_critics(batch, noise),
            learner.update_policy(
                nothing, [(noise.clone(), noise.clone()) for _ in range(work.POLICY_FREQUENCY)]
            ),
        )
    )


def box(environment: DirectEnvironment) -> gym.spaces.Box:
    """The space of continuous actions."""
    space = environment.environment.action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    return space


def parity(
    make_learner: Callable[[nn.ModuleDict, Tensor, Bounds], Learner],
    given: Mapping[str, Tensor],
    updates: int,
) -> dict[str, Tensor]:
    """As `sac.parity`, without `exact.*`."""
    networks = sac.given_networks(given)
    log_alpha = given["log_alpha"].clone()
    bounds = Bounds(log_alpha.new_full((1,), work.PARITY_SCALE), log_alpha.new_zeros(1))
    learner = make_learner(networks, log_alpha, bounds)
    critics = [f"{name}.{key}" for name in work.CRITICS for key, _ in networks[name].named_parameters()]
    actor = [f"actor.{key}" for key, _ in networks["actor"].named_parameters()]

    def weights(prefix: str) -> dict[str, Tensor]:
        named = {name: each.detach() for name, each in networks.named_parameters()} | {"log_alpha": log_alpha}
        return {f"{prefix}.{name}": each.clone() for name, each in named.items()}

    result: dict[str, Tensor] = {}
    for index in range(updates):
        batch = sac.given_batch(given, index)
        loss, gradients = learner.update_critics(batch, given["noise.next"][index])
        if index == 0:
            result["qf_loss"] = loss
            result |= {
                f"gradient.{name}": each.clone() for name, each in zip(critics, gradients, strict=True)
            }
        if index % work.POLICY_FREQUENCY == 0:
            noises = list(zip(given["noise.policy"][index], given["noise.alpha"][index], strict=True))
            rounds = learner.update_policy(batch.observations, noises)
            if index == 0:
                loss, gradients, alpha_loss, alpha = rounds[0]
                result |= {
                    f"gradient.{name}": each.clone() for name, each in zip(actor, gradients, strict=True)
                }
                result |= {"actor_loss": loss, "alpha_loss": alpha_loss.reshape(())}
                result |= {"alpha": alpha.reshape(()), "gradient.log_alpha": alpha_loss.reshape(1).clone()}
        learner.move_targets()
        if index == 0:
            result |= weights("parameter")
    return result | weights("after")


def variant(
    kind: type[Learner], compiling: Callable[[work.Parameters], float] | None = None
) -> Variant[work.Parameters]:
    """The variant of a learner, and what compiles it."""
    trained = partial(train, kind)
    return Variant(
        train=trained if compiling is None else unguarded(trained),
        parity=lambda given, updates: parity(kind, given, updates),
        compiling=compiling,
        library=PYTORCH,
    )


EAGER = variant(Learner)
COMPILED = variant(CompiledLearner, compiling)


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="sac-tuned",
            description=__doc__,
            parameters=work.Parameters,
            by_hand=work.BY_HAND,
            variant=EAGER,
            compiled=COMPILED,
        ),
        FIRST_LINE,
    )
