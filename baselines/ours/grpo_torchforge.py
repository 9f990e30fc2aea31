"""`grpo` by the Rust kernel as a Python user gets it: the module `torchforge`, NumPy arrays in and out."""

import torchforge

from baselines.benchmarks import grpo
from baselines.contract import protocol

_advantages, _EPSILON = torchforge.group_advantages, grpo.EPSILON
COURSE = grpo.Course(call=lambda rewards: _advantages(rewards, _EPSILON))

if __name__ == "__main__":
    grpo.run(protocol.parser(__doc__).parse_args(), COURSE)
