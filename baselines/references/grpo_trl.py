"""`grpo` by PyTorch as TRL does it: each group's mean and deviation, repeated for all of its answers.

TRL's own deviation divides by one less than the group's size, and its epsilon is 1e-4. Here both are the benchmark's.
"""

from torch import Tensor

from baselines.benchmarks import grpo, in_pytorch


def advantages(rewards: Tensor) -> Tensor:
    """Advantages of rewards (groups, size), which a trainer holds end to end."""
    size = rewards.shape[1]
    flat = rewards.view(-1)
    mean = flat.view(-1, size).mean(dim=1).repeat_interleave(size, dim=0)
    deviation = flat.view(-1, size).std(dim=1, correction=0).repeat_interleave(size, dim=0)
    return (flat - mean) / (deviation + grpo.EPSILON)


COURSE = grpo.Course(call=advantages, laid_out=in_pytorch.laid_out, gathered=in_pytorch.gathered)

if __name__ == "__main__":
    in_pytorch.serve(__doc__, grpo.run, COURSE)
