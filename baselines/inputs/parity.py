"""The inputs of the parity updates: weights, and a hundred minibatches for consecutive updates from them.

What an implementation computes from such a file is compared with the reference's, tensor by tensor. Names and
shapes of weights are PyTorch's: `online.0.weight` is (outputs, inputs). Everything is f32 but actions of a
discrete kind, i64. All data of one file are drawn in the order written, from one fresh generator.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

UPDATES = 100
_TERMINATED_SHARE = 0.1

# Observations and actions of the environments that DQN is measured on.
DQN_SIZES: Mapping[str, tuple[int, int]] = {
    "CartPole-v1": (4, 2),
    "Acrobot-v1": (6, 3),
    "MountainCar-v0": (2, 3),
}
_DQN_HIDDEN = (120, 84)
_DQN_BATCH = 128

_PPO_OBSERVATION, _PPO_ACTIONS = 4, 2
_PPO_HIDDEN = (64, 64)
# Where the Linear layers stand in such a Sequential, an activation after each but the last.
_TANH_LAYERS = (0, 2, 4)
_PPO_STEPS, _PPO_ENVIRONMENTS = 128, 4
_PPO_BATCH = 128
_PPO_DONE_SHARE = 0.05
# A fifth is where PPO clips: about a third of such perturbations lies beyond.
_PPO_PERTURBATION = 0.2
_PPO_ADVANTAGE = 1e-4

_SAC_OBSERVATION, _SAC_ACTION = 3, 1
SAC_HIDDEN = 256
_SAC_BATCH = 256
_SAC_SCALE = 2.0
_SAC_HIDDEN_BIAS = 0.3
_SAC_POLICY_UPDATES = 2


def dqn_arrays(
    environment: str, seed: int, hidden: tuple[int, int] = _DQN_HIDDEN, batch: int = _DQN_BATCH
) -> Arrays:
    """An online and a target network and the minibatches: `observations` (100, batch, n), `actions` (100, batch).

    Args:
        environment: one of `DQN_SIZES`.
        seed: of the generator.
        hidden: widths of the hidden layers.
        batch: rows of a minibatch.
    """
    generator = np.random.default_rng(seed)
    observation, actions = DQN_SIZES[environment]
    arrays: Arrays = {}
    for network in ("online", "target"):
        arrays |= _sequential(generator, network, (observation, *hidden, actions), _pytorch_bound)
    for name in ("observations", "next_observations"):
        arrays[name] = _normal(generator, UPDATES, batch, observation)
    arrays["actions"] = generator.integers(0, actions, (UPDATES, batch), dtype=np.int64)
    arrays["rewards"] = _normal(generator, UPDATES, batch)
    arrays["terminations"] = _flags(generator, _TERMINATED_SHARE, UPDATES, batch)
    return arrays


def ppo_arrays(seed: int, batch: int = _PPO_BATCH) -> Arrays:
    """Actor and critic, one rollout (128, 4) for the advantages, and minibatches (100, batch).

    `log_probabilities` and `values` are what the weights give, a little perturbed, as they are when a minibatch
    comes late in an iteration: some ratios and some values are clipped, and some are not.
    """
    generator = np.random.default_rng(seed)
    arrays = {
        **_sequential(generator, "actor", (_PPO_OBSERVATION, *_PPO_HIDDEN, _PPO_ACTIONS), _unit_bound),
        **_sequential(generator, "critic", (_PPO_OBSERVATION, *_PPO_HIDDEN, 1), _unit_bound),
    }
    rollout = (_PPO_STEPS, _PPO_ENVIRONMENTS)
    arrays["rollout.rewards"] = _normal(generator, *rollout)
    arrays["rollout.dones"] = _flags(generator, _PPO_DONE_SHARE, *rollout)
    arrays["rollout.values"] = _normal(generator, *rollout)
    arrays["rollout.next_value"] = _normal(generator, _PPO_ENVIRONMENTS)
    arrays["rollout.next_done"] = _flags(generator, 0.5, _PPO_ENVIRONMENTS)

    shape = (UPDATES, batch)
    observations = arrays["observations"] = _normal(generator, *shape, _PPO_OBSERVATION)
    actions = arrays["actions"] = generator.integers(0, _PPO_ACTIONS, shape, dtype=np.int64)
    logits = _tanh_network(arrays, "actor", observations)
    logits = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    given = np.take_along_axis(logits, actions[..., None], axis=-1)[..., 0]
    arrays["log_probabilities"] = _perturbed(generator, given)
    arrays["values"] = _perturbed(generator, _tanh_network(arrays, "critic", observations)[..., 0])
    # So small that the constant added to their deviation shows.
    arrays["advantages"] = _normal(generator, *shape) * np.float32(_PPO_ADVANTAGE)
    arrays["returns"] = arrays["values"] + _normal(generator, *shape)
    return arrays


def sac_arrays(
    seed: int,
    hidden: int = SAC_HIDDEN,
    observation: int = _SAC_OBSERVATION,
    action: int = _SAC_ACTION,
    batch: int = _SAC_BATCH,
) -> Arrays:
    """Actor, both critics and their targets, log alpha, minibatches (100, batch) and the noise of every sampling.

    `noise.next` (100, batch, action) is the critic update's, `noise.policy` and `noise.alpha` (100, 2, batch, action)
    are those of the two policy updates and of the alpha update after each.
    """
    generator = np.random.default_rng(seed)
    arrays: Arrays = {}
    for layer, inputs, outputs in (
        ("fc1", observation, hidden),
        ("fc2", hidden, hidden),
        ("fc_mean", hidden, action),
        ("fc_logstd", hidden, action),
    ):
        arrays |= _linear(generator, f"actor.{layer}", inputs, outputs, _pytorch_bound(inputs))
    # Actions near their bound: there the constant in the correction of the log-probabilities shows.
    arrays["actor.fc_mean.bias"] += np.float32(2.0)
    for critic in ("qf1", "qf2", "qf1_target", "qf2_target"):
        widths = (observation + action, hidden, hidden, 1)
        for index, (inputs, outputs) in enumerate(pairwise(widths), start=1):
            arrays |= _linear(generator, f"{critic}.fc{index}", inputs, outputs, _pytorch_bound(inputs))
    # No hidden unit is nearly silent: of its tiny gradients Adam would make whole steps, whose signs are rounding's.
    for name in arrays:
        if name.endswith(("fc1.bias", "fc2.bias")):
            # Weights of narrower layers are larger.
            arrays[name] += np.float32(_SAC_HIDDEN_BIAS * sqrt(SAC_HIDDEN / hidden))
    arrays["log_alpha"] = generator.uniform(-1.0, 0.0, 1).astype(np.float32)

    shape = (UPDATES, batch)
    for name in ("observations", "next_observations"):
        arrays[name] = _normal(generator, *shape, observation)
    arrays["actions"] = generator.uniform(-_SAC_SCALE, _SAC_SCALE, (*shape, action)).astype(np.float32)
    arrays["rewards"] = _normal(generator, *shape)
    arrays["terminations"] = _flags(generator, _TERMINATED_SHARE, *shape)
    arrays["noise.next"] = _normal(generator, *shape, action)
    for name in ("noise.policy", "noise.alpha"):
        arrays[name] = _normal(generator, UPDATES, _SAC_POLICY_UPDATES, batch, action)
    return arrays


def _pytorch_bound(inputs: int) -> float:
    """As PyTorch initialises a Linear layer."""
    return 1.0 / sqrt(inputs)


def _unit_bound(inputs: int) -> float:
    """Weights of variance 1 / inputs: actions far from equally likely, so that entropy has a gradient."""
    return sqrt(3.0 / inputs)


def _sequential(
    generator: np.random.Generator, name: str, widths: Sequence[int], bound: Callable[[int], float]
) -> Arrays:
    """The Linear layers of a Sequential with an activation after each but the last: 0, 2, 4."""
    arrays: Arrays = {}
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        arrays |= _linear(generator, f"{name}.{2 * index}", inputs, outputs, bound(inputs))
    return arrays


def _linear(generator: np.random.Generator, name: str, inputs: int, outputs: int, bound: float) -> Arrays:
    return {
        f"{name}.weight": generator.uniform(-bound, bound, (outputs, inputs)).astype(np.float32),
        f"{name}.bias": generator.uniform(-bound, bound, outputs).astype(np.float32),
    }


def _normal(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return generator.standard_normal(shape).astype(np.float32)


def _flags(generator: np.random.Generator, share: float, *shape: int) -> NDArray[np.float32]:
    return (generator.random(shape) < share).astype(np.float32)


def _tanh_network(
    arrays: Mapping[str, NDArray[Any]], name: str, observations: NDArray[np.float32]
) -> NDArray[np.float64]:
    values = observations.astype(np.float64)
    for layer in _TANH_LAYERS:
        weight, bias = (arrays[f"{name}.{layer}.{part}"].astype(np.float64) for part in ("weight", "bias"))
        values = values @ weight.T + bias
        if layer != _TANH_LAYERS[-1]:
            values = np.tanh(values)
    return values


def _perturbed(generator: np.random.Generator, values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The values with noise, to a thousandth: their last bits depend on the machine's BLAS and libm."""
    noisy = values + _PPO_PERTURBATION * generator.standard_normal(values.shape)
    return (np.round(noisy * 1024.0) / 1024.0).astype(np.float32)
