"""SAC by TorchRL 0.14.1, put together from its parts as its own example does.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()


# TorchRL imports it with its first environment, where it is installed: a second that no window should hold.
import stable_baselines3  # noqa: F401
import torch
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import ExplorationType, set_exploration_type
from torchrl.envs.libs.gym import GymWrapper
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import SACLoss, SoftUpdate

from baselines.benchmarks import sac as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent; a gradient step is one of the critics'."""
    recorded = counting.recording(parameters.environment, parameters.steps)
    environment = GymWrapper(recorded)
    environment.set_seed(seed)
    spec = environment.full_action_spec["action"]
    hidden = {"num_cells": [work.HIDDEN] * 2, "activation_class": nn.ReLU}
    observation, actions = environment.observation_spec["observation"].shape[-1], spec.shape[-1]
    network = nn.Sequential(
        MLP(in_features=observation, out_features=2 * actions, **hidden),
        NormalParamExtractor(scale_mapping="biased_softplus_1.0", scale_lb=0.1),
    )
    actor = ProbabilisticActor(
        module=TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
        spec=spec,
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": spec.space.low, "high": spec.space.high, "tanh_loc": False},
        return_log_prob=False,
    )
    critic = ValueOperator(
        module=MLP(in_features=observation + actions, out_features=1, **hidden),
        in_keys=["action", "observation"],
    )
    loss_module = SACLoss(
        actor_network=actor,
        qvalue_network=critic,
        num_qvalue_nets=2,
        loss_function="l2",
        delay_actor=False,
        delay_qvalue=True,
        alpha_init=1.0,
    )
    loss_module.make_value_estimator(gamma=work.GAMMA)
    target = SoftUpdate(loss_module, eps=1 - work.TAU)
    rates = {
        "loss_actor": (loss_module.actor_network_params, work.POLICY_LEARNING_RATE),
        "loss_qvalue": (loss_module.qvalue_network_params, work.CRITIC_LEARNING_RATE),
    }
    optimizers = {
        name: torch.optim.Adam(list(weights.flatten_keys().values()), lr=rate, fused=True)
        for name, (weights, rate) in rates.items()
    } | {"loss_alpha": torch.optim.Adam([loss_module.log_alpha], lr=work.ALPHA_LEARNING_RATE, fused=True)}
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(work.BUFFER_SIZE), batch_size=parameters.batch)
    collector = Collector(
        environment,
        actor,
        frames_per_batch=1,
        total_frames=parameters.steps,
        init_random_frames=parameters.learning_starts,
        exploration_type=ExplorationType.RANDOM,
        auto_register_policy_transforms=False,
    )
    gradient_steps = counting_in_pytorch.GradientSteps(optimizers["loss_qvalue"])
    environment_steps = 0

    started = time.perf_counter()
    for data in collector:
        environment_steps += data.numel()
        buffer.extend(data.reshape(-1))
        if environment_steps <= parameters.learning_starts + 1:
            continue
        with set_exploration_type(ExplorationType.RANDOM):
            losses = loss_module(buffer.sample())
        sum(losses[name] for name in optimizers).backward()
        for optimizer in optimizers.values():
            optimizer.step()
            optimizer.zero_grad()
        target.step()
    ended = time.perf_counter()
    collector.shutdown()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes(recorded),
        weights=network.state_dict(),
        trace={},
        logs=[log_of(recorded)],
    )


if __name__ == "__main__":
    serving.main("sac_torchrl", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
