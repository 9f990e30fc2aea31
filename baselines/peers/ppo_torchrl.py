"""PPO by TorchRL 0.14.1, put together from its parts as its own examples do.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

from functools import partial
from typing import cast

# TorchRL imports it with its first environment, where it is installed: a second that no window should hold.
import stable_baselines3  # noqa: F401
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import ExplorationType
from torchrl.envs.libs.gym import GymWrapper
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import logs_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving
from baselines.references import ppo as reference


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    steps = parameters.iterations * parameters.rollout_rows
    make = partial(counting.recording, parameters.environment, steps // parameters.environments)
    # Its fastest vector on one processor (docs/decisions/vectors-of-environments.md); it resets what ended itself.
    vector = SyncVectorEnv([make] * parameters.environments, autoreset_mode=AutoresetMode.DISABLED)
    environment = GymWrapper(vector, categorical_action_encoding=True)
    environment.set_seed(seed)
    spec = environment.full_action_spec_unbatched["action"]
    sizes = environment.observation_spec["observation"].shape[-1], spec.space.n
    agent = reference.make_agent(*sizes)
    actor = ProbabilisticActor(
        TensorDictModule(agent["actor"], in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        spec=spec,
        distribution_class=Categorical,
        return_log_prob=True,
        default_interaction_type=ExplorationType.RANDOM,
    )
    critic = ValueOperator(agent["critic"], in_keys=["observation"])
    advantages = GAE(gamma=work.GAMMA, lmbda=work.GAE_LAMBDA, value_network=critic, average_gae=False)
    loss_module = ClipPPOLoss(
        actor_network=actor,
        critic_network=critic,
        clip_epsilon=work.CLIP,
        loss_critic_type="l2",
        entropy_coeff=work.ENTROPY_COEFFICIENT,
        # Its value loss has no half inside.
        critic_coeff=work.VALUE_COEFFICIENT / 2,
        normalize_advantage=True,
        clip_value=work.CLIP,
    )
    optimizer = torch.optim.Adam(agent.parameters(), lr=work.LEARNING_RATE, eps=work.ADAM_EPSILON, fused=True)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(parameters.rollout_rows),
        sampler=SamplerWithoutReplacement(),
        batch_size=parameters.rollout_rows // parameters.minibatches,
    )
    collector = Collector(
        environment,
        actor,
        frames_per_batch=parameters.rollout_rows,
        total_frames=steps,
        auto_register_policy_transforms=False,
    )
    gradient_steps = counting_in_pytorch.GradientSteps(optimizer)
    environment_steps = 0

    started = time.perf_counter()
    for iteration, data in enumerate(collector, start=1):
        environment_steps += data.numel()
        optimizer.param_groups[0]["lr"] = reference.annealed(iteration, parameters.iterations)
        with torch.no_grad():
            advantages(data)
        for _ in range(parameters.epochs):
            buffer.extend(data.reshape(-1))
            for batch in buffer:
                losses = loss_module(batch)
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), work.GRADIENT_NORM)
                optimizer.step()
    ended = time.perf_counter()
    collector.shutdown()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes(*cast("list[counting.Recorded]", vector.envs)),
        weights=agent.state_dict(),
        trace={},
        logs=logs_of(vector),
    )


if __name__ == "__main__":
    serving.main("ppo_torchrl", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
