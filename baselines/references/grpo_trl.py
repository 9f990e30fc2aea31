"""`grpo` by PyTorch as TRL does it: each group's mean and deviation, repeated for all of its answers.

TRL's own deviation divides by one less than the group's size, and its epsilon is 1e-4. Here both are the benchmark's.
"""

import torch
from torch import Tensor

from baselines.benchmarks import grpo
from baselines.contract import protocol


def advantages(rewards: Tensor) -> Tensor:
    """Advantages of rewards (groups, size), which a trainer holds end to end."""
    size = rewards.shape[1]
    flat = rewards.view(-1)
    mean = flat.view(-1, size).mean(dim=1).repeat_interleave(size, dim=0)
    deviation = flat.view(-1, size).std(dim=1, correction=0).repeat_interleave(size, dim=0)
    return (flat - mean) / (deviation + grpo.EPSILON)


COURSE = grpo.Course(
    call=advantages, laid_out=torch.from_numpy, gathered=lambda outputs: torch.cat(outputs).numpy()
)


def main() -> None:
    """Serve the cases without autograd: advantages have no gradient."""
    options = protocol.parser(__doc__).parse_args()
    torch.set_num_threads(protocol.threads())
    with torch.inference_mode():
        grpo.run(options, COURSE)


if __name__ == "__main__":
    main()
