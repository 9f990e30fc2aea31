"""`grpo` by the Rust kernel as a Python user gets it: the module `torchforge`, NumPy arrays in and out."""

import torchforge

from baselines.benchmarks import grpo
from baselines.contract import protocol

COURSE = grpo.Course(call=lambda rewards: torchforge.group_advantages(rewards, grpo.EPSILON))

if __name__ == "__main__":
    grpo.run(protocol.parser(__doc__).parse_args(), COURSE)
