"""`grpo` as fast as PyTorch does it: broadcast and in place.

`std_mean` gives mean and deviation by one call, and has the fewest calls where arrays are small. On larger ones it is not
vectorised: by hand a norm took a sixth of the time for 1,024 groups of 32.
"""

import torch
from torch import Tensor

from baselines.benchmarks import grpo, in_pytorch

# Numbers up to which fewer calls are faster.
_SMALL = 256


def advantages(rewards: Tensor) -> Tensor:
    """Advantages of rewards (groups, size)."""
    if rewards.numel() <= _SMALL:
        deviation, mean = torch.std_mean(rewards, dim=1, correction=0, keepdim=True)
        return (rewards - mean).div_(deviation.add_(grpo.EPSILON))
    centred = rewards - rewards.mean(1, keepdim=True)
    deviation = torch.linalg.vector_norm(centred, dim=1, keepdim=True).mul_(rewards.shape[1] ** -0.5)
    return centred.div_(deviation.add_(grpo.EPSILON))


COURSE = grpo.Course(call=advantages, laid_out=in_pytorch.laid_out, gathered=in_pytorch.gathered)

if __name__ == "__main__":
    in_pytorch.serve(__doc__, grpo.run, COURSE)
