"""PPO as fast as PyTorch does it: the work of `baselines/references/ppo.py`, by eager PyTorch or with --compile.

It acts by NumPy with PyTorch's weights, because that is faster (`few_rows`).

By hand, from the repository's root:

    uv run --project baselines python -m baselines.tuned.ppo [--seed 1] [--iterations 976] [--compile]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.references import ppo
from baselines.references.ppo import Losses, Minibatch
from baselines.tuned.adam import CompiledAdam, FusedAdam, adam
from baselines.tuned.compiling import compiled, seconds_of, unguarded
from baselines.tuned.direct_environment import DirectEnvironment
from baselines.tuned.few_rows import FewRows, Floats, tanh
from baselines.tuned.networks import dense, detached

LookBack = Callable[[Floats, Floats, Floats], Floats]
"""Advantages (steps, environments) of rewards, flags and values, as `advantages_of` takes them."""

# As PyTorch's own clipping has it: what keeps it from dividing by nothing.
NORM_EPSILON = 1e-6


def loss_of(weights: Sequence[Tensor], batch: Minibatch) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """The loss, and beside it policy loss, value loss and entropy.

    Args:
        weights: the critic's six tensors, then the actor's.
        batch: rows of a rollout.
    """
    values = dense(weights[:6], batch.observations, torch.tanh).view(-1)
    logs = dense(weights[6:], batch.observations, torch.tanh).log_softmax(dim=1)
    entropy = -(logs * logs.exp()).sum(dim=1).mean()
    ratio = (logs.gather(1, batch.actions.view(-1, 1)).view(-1) - batch.log_probabilities).exp()
    advantages = batch.advantages
    advantages = (advantages - advantages.mean()) / (advantages.std() + work.ADVANTAGE_EPSILON)
    clipped = ratio.clamp(1 - work.CLIP, 1 + work.CLIP)
    policy_loss = torch.maximum(-advantages * ratio, -advantages * clipped).mean()
    near = batch.values + (values - batch.values).clamp(-work.CLIP, work.CLIP)
    value_loss = 0.5 * torch.maximum((values - batch.returns) ** 2, (near - batch.returns) ** 2).mean()
    loss = policy_loss - work.ENTROPY_COEFFICIENT * entropy + value_loss * work.VALUE_COEFFICIENT
    return loss, (policy_loss, value_loss, entropy)


class Learner:
    """An agent and updates of it."""

    def __init__(self, agent: nn.ModuleDict) -> None:
        self.names = [name for name, _ in agent.named_parameters()]
        self.parameters = list(agent.parameters())
        self.weights = detached(self.parameters)
        self.critic, self.actor = self.weights[:6], self.weights[6:]
        self.fused = FusedAdam(self.weights, work.LEARNING_RATE, work.ADAM_EPSILON)
        self.optimizer: FusedAdam | CompiledAdam = self.fused

    def update(self, batch: Minibatch) -> tuple[Losses, Sequence[Tensor]]:
        """One gradient step: the losses, and the clipped gradients in the parameters' order."""
        loss, parts = loss_of(self.parameters, batch)
        gradients = torch.autograd.grad(loss, self.parameters)
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        torch._foreach_mul_(gradients, (work.GRADIENT_NORM / (norm + NORM_EPSILON)).clamp(max=1.0))
        self.fused.step(gradients)
        return Losses(loss, *parts, norm), gradients


class CompiledLearner(Learner):
    """The same, with loss, gradients, clipping and Adam in one compiled program."""

    def __init__(self, agent: nn.ModuleDict) -> None:
        super().__init__(agent)
        self.compiled = CompiledAdam(self.weights, work.LEARNING_RATE, work.ADAM_EPSILON)
        self.optimizer = self.compiled

    def update(self, batch: Minibatch) -> tuple[Losses, Sequence[Tensor]]:
        """One gradient step: the losses, and the clipped gradients in the parameters' order."""
        losses, gradients = compiled_update(self.compiled.next(), batch)
        return losses, gradients


@compiled
def compiled_update(
    state: tuple[list[Tensor], list[Tensor], list[Tensor], Tensor], batch: Minibatch
) -> tuple[Losses, Sequence[Tensor]]:
    """One gradient step, in place."""
    gradients, (loss, (policy_loss, value_loss, entropy)) = torch.func.grad_and_value(loss_of, has_aux=True)(
        state[0], batch
    )
    norm = torch.stack([each.square().sum() for each in gradients]).sum().sqrt()
    coefficient = (work.GRADIENT_NORM / (norm + NORM_EPSILON)).clamp(max=1.0)
    gradients = [each * coefficient for each in gradients]
    adam(state, gradients)
    return Losses(loss, policy_loss, value_loss, entropy, norm), gradients


class Rollout(NamedTuple):
    """What acting leaves behind: (steps + 1, environments, ...), the last row what comes after the last step."""

    observations: Floats
    dones: Floats
    rewards: Floats
    actions: NDArray[np.int64]


def empty_rollout(parameters: work.Parameters, observation_shape: tuple[int, ...]) -> Rollout:
    """Memory for a rollout, before the first step."""
    steps, count = parameters.rollout_steps, parameters.environments
    return Rollout(
        observations=np.zeros((steps + 1, count, *observation_shape), dtype=np.float32),
        dones=np.zeros((steps + 1, count), dtype=np.float32),
        rewards=np.zeros((steps, count), dtype=np.float32),
        actions=np.zeros((steps, count), dtype=np.int64),
    )


def advantages_of(rewards: Floats, dones: Floats, values: Floats) -> Floats:
    """Generalised advantage estimation as in the reference, in NumPy, which calls faster on rows of four.

    Args:
        rewards: (steps, environments).
        dones: (steps + 1, environments), the flag before each step and that after the last.
        values: (steps + 1, environments), likewise.
    """
    continues = 1 - dones[1:]
    deltas = rewards + np.float32(work.GAMMA) * values[1:] * continues - values[:-1]
    factors = np.float32(work.GAMMA * work.GAE_LAMBDA) * continues
    advantages = np.empty_like(rewards)
    last = np.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        advantages[t] = last = deltas[t] + factors[t] * last
    return advantages


def rows_of(rollout: Rollout, learner: Learner, look_back: LookBack = advantages_of) -> Minibatch:
    """The rollout as rows to learn from: all values and log-probabilities at once."""
    steps, environments = rollout.rewards.shape
    observations = torch.from_numpy(rollout.observations)
    values = dense(learner.critic, observations, torch.tanh).view(steps + 1, environments)
    advantages = torch.from_numpy(look_back(rollout.rewards, rollout.dones, values.numpy()))
    played = observations[:-1].reshape(steps * environments, -1)
    actions = torch.from_numpy(rollout.actions).view(-1)
    logs = dense(learner.actor, played, torch.tanh).log_softmax(dim=1)
    return Minibatch(
        observations=played,
        actions=actions,
        log_probabilities=logs.gather(1, actions.view(-1, 1)).view(-1),
        advantages=advantages.view(-1),
        returns=(advantages + values[:-1]).view(-1),
        values=values[:-1].reshape(-1),
    )


def learn(
    flat: Minibatch, learner: Learner, parameters: work.Parameters, trace: ppo.Trace, environment_steps: int
) -> int:
    """Learn from the rows of a rollout in shuffled minibatches, as the reference does; how many gradient steps."""
    gradient_steps = 0
    rows = parameters.rollout_rows
    order = np.arange(rows)
    for _ in range(parameters.epochs):
        np.random.shuffle(order)
        chosen = torch.from_numpy(order)
        shuffled = [each.index_select(0, chosen).split(rows // parameters.minibatches) for each in flat]
        for batch in map(Minibatch._make, zip(*shuffled, strict=True)):
            learner.update(batch)
            gradient_steps += 1
            trace.update_steps.append(environment_steps)
            trace.batch_rows.append(len(batch.actions))
    return gradient_steps


def train(make_learner: type[Learner], parameters: work.Parameters, seed: int) -> Trained:
    """As `ppo.train`: the same draws in the same order."""
    count, steps, rows = parameters.environments, parameters.rollout_steps, parameters.rollout_rows
    environments = [DirectEnvironment(parameters.environment) for _ in range(count)]
    shape = environments[0].observation_shape
    action_kinds = action_count(environments[0])
    agent = ppo.make_agent(int(np.prod(shape)), action_kinds)
    initial = ppo.initial_weights(agent)
    learner = make_learner(agent)
    rollout = empty_rollout(parameters, shape)
    logits = FewRows([each.numpy() for each in learner.actor], tanh)
    ended_before = np.zeros((steps + 1, count), dtype=np.bool_)
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace = ppo.Trace()

    # Not before the environments are made: NumPy would warn of numbers that are zero now.
    torch.set_flush_denormal(True)
    for index, environment in enumerate(environments):
        rollout.observations[-1, index] = environment.reset(seed + index)
    started = time.perf_counter()
    for iteration in range(1, parameters.iterations + 1):
        learner.optimizer.learning_rate = ppo.annealed(iteration, parameters.iterations)

        # Act: where probability over an exponential draw is largest, as torch.multinomial draws. Logarithms are compared,
        # so logits do: softmax's divisor is the same for every action.
        rollout.observations[0] = rollout.observations[-1]
        rollout.dones[0] = rollout.dones[-1]
        draws = torch.empty(steps, count, action_kinds).exponential_().log_().numpy()
        for step in range(steps):
            actions = (logits(rollout.observations[step]) - draws[step]).argmax(axis=1).tolist()
            rollout.actions[step] = actions
            for index, environment in enumerate(environments):
                observation, reward, _, ended = environment.step(actions[index])
                rollout.rewards[step, index] = reward
                rollout.dones[step + 1, index] = ended_before[step + 1, index] = ended
                if ended:
                    episodes.append(environment.episode(environment_steps + index))
                    observation = environment.reset()
                rollout.observations[step + 1, index] = observation
            environment_steps += count

        trace.iteration(learner.optimizer.learning_rate, rollout.dones, ended_before)

        gradient_steps += learn(rows_of(rollout, learner), learner, parameters, trace, environment_steps)
        progress.report(environment_steps)
    return Trained(
        started=started,
        ended=time.perf_counter(),
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=[each.log for each in environments],
    )


def compiling(parameters: work.Parameters) -> float:
    """The seconds to compile an update, with a minibatch of nothing and an agent to throw away."""
    environment = DirectEnvironment(parameters.environment)
    inputs = int(np.prod(environment.observation_shape))
    learner = CompiledLearner(ppo.make_agent(inputs, action_count(environment)))
    rows = parameters.rollout_rows // parameters.minibatches
    numbers = (torch.zeros(rows) for _ in range(4))
    batch = Minibatch(torch.zeros(rows, inputs), torch.zeros(rows, dtype=torch.int64), *numbers)
    return seconds_of(lambda: learner.update(batch))


def action_count(environment: DirectEnvironment) -> int:
    """How many discrete actions there are."""
    space = environment.environment.action_space
    if not isinstance(space, gym.spaces.Discrete):
        protocol.refuse(f"this PPO needs discrete actions, not {space}; name another environment")
    return int(space.n)


def parity(
    make_learner: Callable[[nn.ModuleDict], Learner],
    given: Mapping[str, Tensor],
    updates: int,
    look_back: LookBack = advantages_of,
) -> dict[str, Tensor]:
    """As `ppo.parity`, without `exact.*`."""
    learner = make_learner(ppo.given_agent(given))
    rollout = {key: value.numpy() for key, value in training.layers(given, "rollout").items()}
    dones = np.vstack([rollout["dones"], rollout["next_done"]])
    values = np.vstack([rollout["values"], rollout["next_value"]])
    advantages = torch.from_numpy(look_back(rollout["rewards"], dones, values))
    result = {"advantages": advantages, "returns": advantages + given["rollout.values"]}
    for index in range(updates):
        losses, gradients = learner.update(ppo.given_batch(given, index))
        if index == 0:
            result |= {name: value.detach().clone() for name, value in losses._asdict().items()}
            for name, gradient, weight in zip(learner.names, gradients, learner.weights, strict=True):
                result[f"gradient.{name}"] = gradient.clone()
                result[f"parameter.{name}"] = weight.clone()
    return result | {
        f"after.{name}": weight for name, weight in zip(learner.names, learner.weights, strict=True)
    }


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
            name="ppo-tuned",
            description=__doc__,
            parameters=work.Parameters,
            by_hand=work.BY_HAND,
            variant=EAGER,
            compiled=COMPILED,
        ),
        FIRST_LINE,
    )
