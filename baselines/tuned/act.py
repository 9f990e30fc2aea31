"""`act` as fast as PyTorch does it, with neither autograd nor a copy, or with --compile as one compiled program.

The tuned trainings act by NumPy, because that is faster (`act_numpy`).
"""

import torch
from torch import Tensor

from baselines.benchmarks import act
from baselines.benchmarks.training import COMPILE_HELP
from baselines.benchmarks.training_in_pytorch import TENSORS
from baselines.contract import protocol
from baselines.references import dqn
from baselines.tuned.compiling import compiled
from baselines.tuned.networks import dense, detached


def prepare(given: act.Given) -> act.Forward:
    """The forward pass that is timed."""
    weights = _weights(given)
    return lambda observation: dense(weights, torch.from_numpy(observation), torch.relu)


def prepare_compiled(given: act.Given) -> act.Forward:
    """The same as one compiled program."""
    weights = _weights(given)

    @compiled
    def values(observation: Tensor) -> Tensor:
        return dense(weights, observation, torch.relu)

    return lambda observation: values(torch.from_numpy(observation))


def _weights(given: act.Given) -> list[Tensor]:
    return detached(list(dqn.given_network(given, "online").parameters()))


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--compile", action="store_true", help=COMPILE_HELP)
    options = parser.parse_args()
    torch.set_num_threads(protocol.threads())
    # Inference mode was tried in the eager program alone.
    with torch.inference_mode(not options.compile):
        act.run(options, prepare_compiled if options.compile else prepare, TENSORS)
