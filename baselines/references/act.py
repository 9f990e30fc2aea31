"""The reference of `act`: DQN's network as `references/dqn.py` acts with it, autograd on."""

import torch

from baselines.benchmarks import act
from baselines.benchmarks.training_in_pytorch import TENSORS
from baselines.contract import protocol
from baselines.references import dqn


def prepare(given: act.Given) -> act.Forward:
    """The forward pass that is timed."""
    online = dqn.given_network(given, "online")
    return lambda observation: online(torch.Tensor(observation))


if __name__ == "__main__":
    torch.set_num_threads(protocol.threads())
    act.run(protocol.parser(__doc__).parse_args(), prepare, TENSORS)
