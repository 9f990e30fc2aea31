"""`token-kl` by PyTorch as TRL does it: a value for each token, then their sums."""

import torch
from torch import Tensor

from baselines.benchmarks import in_pytorch, token_kl


def exact(policy: Tensor, reference: Tensor) -> Tensor:
    """One divergence for each row of (batch, length)."""
    return (torch.exp(policy) * (policy - reference)).sum(dim=1)


def k3(policy: Tensor, reference: Tensor) -> Tensor:
    """One estimate for each row of (batch, length)."""
    per_token = torch.exp(reference - policy) - (reference - policy) - 1
    return per_token.sum(dim=1)


COURSE = token_kl.Course(
    prepare=token_kl.either(exact=exact, k3=k3),
    laid_out=in_pytorch.laid_out,
    gathered=in_pytorch.gathered,
)

if __name__ == "__main__":
    in_pytorch.serve(__doc__, token_kl.run, COURSE)
