"""The reference of `nn-act`: the networks of the trainings' references, without gradients."""

import argparse
from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.distributions.categorical import Categorical

from baselines.benchmarks import nn_act, training_in_pytorch
from baselines.benchmarks.nn_act import Call, Given, Seen
from baselines.contract import protocol
from baselines.references import dqn, ppo, sac
from baselines.references.update import bounds_of


def dqn_call(given: Given) -> Call:
    """The values of all actions, by the network of `references/dqn.py`."""
    online = dqn.given_network(given, "online")

    def call(seen: Seen) -> tuple[Tensor]:
        with torch.no_grad():
            return (online(torch.Tensor(seen.observations)),)

    return call


def ppo_call(given: Given) -> Call:
    """The policy and the values, by the agent of `references/ppo.py`."""
    agent = ppo.given_agent(given)

    def call(seen: Seen) -> tuple[Tensor, Tensor]:
        observations = torch.Tensor(seen.observations)
        with torch.no_grad():
            distribution = Categorical(logits=agent["actor"](observations))
            return distribution.logits, agent["critic"](observations).flatten()

    return call


def sac_call(given: Given) -> Call:
    """An action, by the actor of `references/sac.py`."""
    actor, bounds = sac.given_networks(given)["actor"], bounds_of(given)

    def call(seen: Seen) -> tuple[Tensor]:
        with torch.no_grad():
            actions, _ = sac.sample(actor, bounds, torch.Tensor(seen.observations), torch.Tensor(seen.noise))
        return (actions,)

    return call


def serve(options: argparse.Namespace, ways: Mapping[str, Callable[[Given], Call]]) -> None:
    """Serve the cases in PyTorch, on the launch's threads."""
    torch.set_num_threads(protocol.threads())
    nn_act.run(options, ways, training_in_pytorch.TENSORS)


WAYS = {"dqn": dqn_call, "ppo": ppo_call, "sac": sac_call}


if __name__ == "__main__":
    serve(protocol.parser(__doc__).parse_args(), WAYS)
