"""Every constant of the trainings' definition, changed alone in the source of the reference.

What each of them must make the gate say: a count, a tensor, or the shape that a weight does not have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DQN, PPO, SAC = "dqn", "ppo", "sac"
# Where every episode is cut off after 200 steps and none comes to an end of its own.
CUT_OFF = {"environment": "MountainCar-v0"}


@dataclass(frozen=True)
class Mutation:
    """A part of the source and what takes its place; ``says`` is a part of the failure."""

    baseline: str
    constant: str
    old: str
    new: str
    says: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the smallest case, for the mutant and for the reference alike."""
    lies: Mapping[str, Any] = field(default_factory=dict)
    """What the mutant takes in place of its parameters."""

    def __str__(self) -> str:
        return f"{self.baseline} {self.constant}"


_OPTIMIZE = "    loss.backward()\n    optimizer.step()\n"
_STORE = "buffer.add(observations, real_next_observations, actions, rewards, terminations)"
_STORE_ENDS = "buffer.add(observations, real_next_observations, actions, rewards, terminations | truncations)"
_LAST = 'real_next_observations[0] = infos["final_obs"][0]'

MUTATIONS = [
    Mutation(DQN, "steps", "range(parameters.steps)", "range(parameters.steps - 1)", "environment_steps"),
    Mutation(DQN, "width 120", "120", "128", "0.weight"),
    Mutation(DQN, "width 84", "84", "64", "2.weight"),
    Mutation(DQN, "ReLU", "nn.ReLU()", "nn.Tanh()", "update.safetensors"),
    Mutation(
        DQN,
        "first weights",
        "    optimizer = make_optimizer(online)\n    target = make_network",
        "    nn.init.xavier_uniform_(online[0].weight)\n"
        "    optimizer = make_optimizer(online)\n    target = make_network",
        "initial.0.weight.bound",
    ),
    Mutation(DQN, "learning rate", "LEARNING_RATE = 2.5e-4", "LEARNING_RATE = 2.8e-4", "update.safetensors"),
    Mutation(DQN, "Adam's eps", "lr=LEARNING_RATE)", "lr=LEARNING_RATE, eps=1e-7)", "update.safetensors"),
    Mutation(
        DQN,
        "buffer",
        "BUFFER_SIZE = 10_000",
        "BUFFER_SIZE = 10_050",
        "buffer_rows",
        parameters={"learning_starts": 9_990, "steps": 10_110},
    ),
    Mutation(DQN, "batch", "BATCH_SIZE = 128", "BATCH_SIZE = 127", "batch_rows"),
    Mutation(DQN, "learning starts", "step > parameters", "step >= parameters", "gradient_steps"),
    Mutation(
        DQN,
        "train every 10",
        "step % parameters.train_frequency == 0",
        "step % parameters.train_frequency == 1",
        "gradient_steps",
    ),
    Mutation(
        DQN,
        "copy every 500",
        "TARGET_NETWORK_FREQUENCY = 500",
        "TARGET_NETWORK_FREQUENCY = 490",
        "copy_steps",
    ),
    Mutation(DQN, "hard copy", "TAU = 1.0", "TAU = 0.99", "copy_remainder"),
    Mutation(DQN, "first epsilon", "START_EPSILON = 1.0", "START_EPSILON = 0.9", "epsilon"),
    Mutation(DQN, "last epsilon", "END_EPSILON = 0.05", "END_EPSILON = 0.04", "epsilon"),
    Mutation(
        DQN,
        "in a straight line",
        "(end - start) / duration * step + start",
        "start * (end / start) ** (step / duration)",
        "trace.safetensors epsilon",
    ),
    Mutation(
        DQN,
        "exploration",
        "EXPLORATION_FRACTION = 0.5",
        "EXPLORATION_FRACTION = 0.49",
        "trace.safetensors epsilon",
    ),
    Mutation(DQN, "gamma", "GAMMA = 0.99", "GAMMA = 0.98", "update.safetensors"),
    Mutation(DQN, "squared error", "mse_loss", "smooth_l1_loss", "update.safetensors"),
    Mutation(
        DQN,
        "no clipping",
        _OPTIMIZE,
        _OPTIMIZE.replace("optim", "nn.utils.clip_grad_norm_(online.parameters(), 0.5)\n    optim"),
        "update.safetensors gradient",
    ),
    Mutation(
        DQN, "no bootstrap after the end", " * (1 - batch.terminations.flatten())", "", "update.safetensors"
    ),
    Mutation(DQN, "bootstrap when cut off", _STORE, _STORE_ENDS, "truncations_stored_as_ends", CUT_OFF),
    Mutation(DQN, "the real last observation", _LAST, "pass", "last_observation_error", CUT_OFF),
    Mutation(PPO, "4 environments", "", "", "gradient_steps", lies={"environments": 8, "iterations": 1}),
    Mutation(PPO, "128 steps", "", "", "gradient_steps", lies={"rollout_steps": 64, "iterations": 4}),
    Mutation(PPO, "minibatches of 128", "", "", "batch_rows", lies={"minibatches": 2, "epochs": 8}),
    Mutation(PPO, "4 epochs", "", "", "gradient_steps", lies={"epochs": 3}),
    Mutation(PPO, "iterations", "", "", "environment_steps", lies={"iterations": 3}),
    Mutation(PPO, "learning rate", "LEARNING_RATE = 2.5e-4", "LEARNING_RATE = 3e-4", "update.safetensors"),
    Mutation(
        PPO,
        "annealing",
        '["lr"] = annealed(iteration, parameters.iterations)',
        '["lr"] = LEARNING_RATE',
        "learning_rate",
    ),
    Mutation(PPO, "Adam's eps", "ADAM_EPSILON = 1e-5", "ADAM_EPSILON = 1e-6", "update.safetensors"),
    Mutation(PPO, "gamma", "GAMMA = 0.99", "GAMMA = 0.98", "advantages"),
    Mutation(PPO, "lambda", "GAE_LAMBDA = 0.95", "GAE_LAMBDA = 0.96", "advantages"),
    Mutation(PPO, "clip", "CLIP = 0.2", "CLIP = 0.21", "update.safetensors"),
    Mutation(PPO, "clipped value loss", "torch.max(unclipped, clipped)", "unclipped", "update.safetensors"),
    Mutation(
        PPO, "entropy", "ENTROPY_COEFFICIENT = 0.01", "ENTROPY_COEFFICIENT = 0.011", "update.safetensors"
    ),
    Mutation(PPO, "value", "VALUE_COEFFICIENT = 0.5", "VALUE_COEFFICIENT = 0.51", "update.safetensors"),
    Mutation(PPO, "a half inside", "0.5 * torch.max", "torch.max", "update.safetensors"),
    Mutation(PPO, "gradient norm", "GRADIENT_NORM = 0.5", "GRADIENT_NORM = 0.51", "gradient"),
    Mutation(
        PPO,
        "advantages normalised",
        "(advantages - advantages.mean())",
        "(advantages - 1e-5)",
        "update.safetensors",
    ),
    Mutation(
        PPO, "sample deviation", "advantages.std()", "advantages.std(unbiased=False)", "update.safetensors"
    ),
    Mutation(
        PPO,
        "under the deviation",
        "ADVANTAGE_EPSILON = 1e-8",
        "ADVANTAGE_EPSILON = 1e-7",
        "update.safetensors",
    ),
    Mutation(PPO, "width 64", "64", "32", "0.weight"),
    Mutation(PPO, "tanh", "nn.Tanh()", "nn.ReLU()", "update.safetensors"),
    Mutation(PPO, "gain of sqrt 2", "np.sqrt(2)", "np.sqrt(3)", "initial.actor.0.weight.gram"),
    Mutation(PPO, "gain of the policy head", "gain=0.01", "gain=0.1", "initial.actor.4.weight.gram"),
    Mutation(PPO, "gain of the value head", "gain=1.0", "gain=1.1", "initial.critic.4.weight.gram"),
    Mutation(
        PPO, "orthogonal", "orthogonal_(layer.weight, gain)", "xavier_uniform_(layer.weight, gain)", "gram"
    ),
    Mutation(PPO, "biases of 0", "(layer.bias, 0.0)", "(layer.bias, 0.01)", ".bias"),
    Mutation(
        PPO,
        "cut off counts as done",
        "np.logical_or(terminations, truncations)",
        "terminations",
        "wrong_flags",
        CUT_OFF,
    ),
    Mutation(
        PPO,
        "flags before the step",
        "            episodes += training",
        "            rollout.dones[step] = next_done\n            episodes += training",
        "wrong_flags",
    ),
    Mutation(
        SAC,
        "steps",
        "range(0, parameters.steps, count)",
        "range(0, parameters.steps - 1, count)",
        "environment_steps",
    ),
    Mutation(
        SAC,
        "updates after steps of several",
        "range(step, step + count)",
        "range(step, step + 1)",
        "gradient_steps",
        {"environments": 3},
    ),
    Mutation(SAC, "hidden 256", "HIDDEN = 256", "HIDDEN = 128", "trace.safetensors hidden"),
    Mutation(SAC, "ReLU of the critics", 'relu(critic["fc1"]', 'tanh(critic["fc1"]', "update.safetensors"),
    Mutation(SAC, "ReLU of the actor", 'relu(actor["fc1"]', 'tanh(actor["fc1"]', "update.safetensors"),
    Mutation(
        SAC,
        "first weights",
        "    return nn.ModuleDict(networks)",
        '    nn.init.xavier_uniform_(networks["qf1"]["fc1"].weight)\n    return nn.ModuleDict(networks)',
        "initial.qf1.fc1.weight.bound",
    ),
    Mutation(SAC, "buffer", "BUFFER_SIZE = 1_000_000", "BUFFER_SIZE = 500_000", "buffer_capacity"),
    Mutation(SAC, "batch", "sample(parameters.batch)", "sample(parameters.batch - 1)", "batch_rows"),
    Mutation(SAC, "learning starts", "taken > parameters", "taken >= parameters", "gradient_steps"),
    Mutation(
        SAC,
        "policy's rate",
        "POLICY_LEARNING_RATE = 3e-4",
        "POLICY_LEARNING_RATE = 3.3e-4",
        "update.safetensors",
    ),
    Mutation(
        SAC,
        "critics' rate",
        "CRITIC_LEARNING_RATE = 1e-3",
        "CRITIC_LEARNING_RATE = 1.1e-3",
        "update.safetensors",
    ),
    Mutation(
        SAC,
        "alpha's rate",
        "ALPHA_LEARNING_RATE = 1e-3",
        "ALPHA_LEARNING_RATE = 1.1e-3",
        "update.safetensors",
    ),
    Mutation(SAC, "tau", "TAU = 0.005", "TAU = 0.006", "_target"),
    Mutation(
        SAC,
        "targets at every step",
        "TARGET_NETWORK_FREQUENCY = 1",
        "TARGET_NETWORK_FREQUENCY = 2",
        "target_steps",
    ),
    Mutation(
        SAC,
        "policy at every second step",
        "if taken % POLICY_FREQUENCY == 0",
        "if taken % POLICY_FREQUENCY == 1",
        "policy_steps",
    ),
    Mutation(
        SAC,
        "two policy updates each",
        "for _ in range(POLICY_FREQUENCY)",
        "for _ in range(1)",
        "policy_steps",
    ),
    Mutation(SAC, "lowest log-std", "LOG_STD_MIN = -5.0", "LOG_STD_MIN = -5.1", "update.safetensors"),
    Mutation(SAC, "highest log-std", "LOG_STD_MAX = 2.0", "LOG_STD_MAX = 2.1", "update.safetensors"),
    Mutation(SAC, "tanh of the log-std", "torch.tanh(actor", "(actor", "update.safetensors"),
    Mutation(SAC, "under the logarithm", "LOG_EPSILON = 1e-6", "LOG_EPSILON = 2e-6", "alpha_loss"),
    Mutation(
        SAC, "correction by the scale", "torch.log(bounds.scale * ", "torch.log(1.0 * ", "update.safetensors"
    ),
    Mutation(
        SAC, "target entropy", "return -float(actions)", "return -2.0 * float(actions)", "update.safetensors"
    ),
    Mutation(
        SAC,
        "automatic entropy",
        "    temperature.alpha = temperature.log_alpha.exp().item()\n",
        "",
        "alpha",
    ),
    Mutation(SAC, "alpha's fresh noise", 'given["noise.alpha"]', 'given["noise.policy"]', "alpha_loss"),
    Mutation(SAC, "gamma", "GAMMA = 0.99", "GAMMA = 0.98", "update.safetensors"),
    Mutation(
        SAC,
        "sum of both errors",
        "loss = first + second",
        "loss = (first + second) / 2",
        "update.safetensors",
    ),
    Mutation(SAC, "squared errors", "mse_loss", "smooth_l1_loss", "update.safetensors"),
    Mutation(
        SAC,
        "bootstrap when cut off",
        "            terminations,\n        )",
        "            terminations | truncations,\n        )",
        "truncations_stored_as_ends",
    ),
    Mutation(
        SAC,
        "the real last observation",
        'real_next_observations[index] = infos["final_obs"][index]',
        "pass",
        "last_observation_error",
    ),
    Mutation(
        SAC, "no bootstrap after the end", "(1 - batch.terminations.flatten())", "1.0", "update.safetensors"
    ),
]
