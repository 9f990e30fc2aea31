"""DQN by TorchRL 0.14.1, put together from its parts as its own example for CartPole does.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()


# TorchRL imports it with its first environment, where it is installed: a second that no window should hold.
import stable_baselines3  # noqa: F401
import torch
from tensordict.nn import TensorDictSequential
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import Composite, LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs.libs.gym import GymWrapper
from torchrl.modules import MLP, EGreedyModule, QValueActor
from torchrl.objectives import DQNLoss, HardUpdate

from baselines.benchmarks import dqn as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    recorded = counting.recording(parameters.environment, parameters.steps)
    environment = GymWrapper(recorded, categorical_action_encoding=True)
    environment.set_seed(seed)
    spec = environment.full_action_spec["action"]
    network = MLP(
        in_features=environment.observation_spec["observation"].shape[-1],
        out_features=spec.space.n,
        num_cells=[120, 84],
        activation_class=nn.ReLU,
    )
    model = QValueActor(module=network, spec=Composite(action=spec), in_keys=["observation"])
    explore = EGreedyModule(
        annealing_num_steps=int(work.EXPLORATION_FRACTION * parameters.steps),
        eps_init=work.START_EPSILON,
        eps_end=work.END_EPSILON,
        spec=model.spec,
    )
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(work.BUFFER_SIZE), batch_size=work.BATCH_SIZE)
    loss_module = DQNLoss(value_network=model, loss_function="l2", delay_value=True)
    loss_module.make_value_estimator(gamma=work.GAMMA)
    interval = work.TARGET_NETWORK_FREQUENCY // parameters.train_frequency
    target = HardUpdate(loss_module, value_network_update_interval=interval)
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=work.LEARNING_RATE, fused=True)
    collector = Collector(
        environment,
        TensorDictSequential(model, explore),
        frames_per_batch=parameters.train_frequency,
        total_frames=parameters.steps,
        auto_register_policy_transforms=False,
    )
    gradient_steps = counting_in_pytorch.GradientSteps(optimizer)
    environment_steps = 0

    started = time.perf_counter()
    for data in collector:
        environment_steps += data.numel()
        explore.step(data.numel())
        buffer.extend(data.reshape(-1))
        # After a block of steps it learns from what is learned from after each of them here.
        if environment_steps <= parameters.learning_starts + parameters.train_frequency:
            continue
        loss = loss_module(buffer.sample())["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
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
    serving.main("dqn_torchrl", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
