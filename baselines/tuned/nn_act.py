"""`nn-act` as fast as PyTorch does it, with neither autograd nor a copy, or with --compile as one compiled program.

The tuned trainings act by NumPy, because that is faster (`nn_act_numpy`).
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from baselines.benchmarks.nn_act import Call, Given, Seen
from baselines.benchmarks.training import COMPILE_HELP
from baselines.contract import protocol
from baselines.references import dqn, ppo, sac
from baselines.references.nn_act import serve
from baselines.references.update import bounds_of
from baselines.tuned.compiling import compiled
from baselines.tuned.networks import dense, detached
from baselines.tuned.sac import policy

# Makes a function of tensors the call that is timed: as it is, or compiled.
Making = Callable[[Callable[..., tuple[Tensor, ...]]], Callable[..., tuple[Tensor, ...]]]


def dqn_call(making: Making, given: Given) -> Call:
    """The values of all actions."""
    weights = _weights(dqn.given_network(given, "online"))
    call = making(lambda observations: (dense(weights, observations, torch.relu),))
    return lambda seen: call(torch.from_numpy(seen.observations))


def ppo_call(making: Making, given: Given) -> Call:
    """The policy and the values."""
    agent = ppo.given_agent(given)
    actor, critic = _weights(agent["actor"]), _weights(agent["critic"])

    def both(observations: Tensor) -> tuple[Tensor, Tensor]:
        logits = dense(actor, observations, torch.tanh)
        return logits.log_softmax(dim=1), dense(critic, observations, torch.tanh).view(-1)

    call = making(both)
    return lambda seen: call(torch.from_numpy(seen.observations))


def sac_call(making: Making, given: Given) -> Call:
    """An action."""
    weights, bounds = _weights(sac.given_networks(given)["actor"]), bounds_of(given)

    def action(observations: Tensor, noise: Tensor) -> tuple[Tensor]:
        mean, log_std = policy(weights, observations)
        return ((mean + noise * log_std.exp()).tanh() * bounds.scale + bounds.bias,)

    call = making(action)

    def acting(seen: Seen) -> Sequence[Tensor]:
        return call(torch.from_numpy(seen.observations), torch.from_numpy(seen.noise))

    return acting


def _weights(network: nn.Module) -> list[Tensor]:
    return detached(list(network.parameters()))


WAYS = {"dqn": dqn_call, "ppo": ppo_call, "sac": sac_call}
EAGER = {name: partial(way, lambda function: function) for name, way in WAYS.items()}
COMPILED = {name: partial(way, compiled) for name, way in WAYS.items()}


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--compile", action="store_true", help=COMPILE_HELP)
    options = parser.parse_args()
    # Inference mode was tried in the eager program alone.
    with torch.inference_mode(not options.compile):
        serve(options, COMPILED if options.compile else EAGER)
