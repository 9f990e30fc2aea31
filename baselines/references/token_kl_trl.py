"""`token-kl` by PyTorch as TRL does it: a value for each token, then their sums."""

import torch
from torch import Tensor

from baselines.benchmarks import token_kl
from baselines.contract import protocol


def exact(policy: Tensor, reference: Tensor) -> Tensor:
    """One divergence for each row of (batch, length)."""
    return (torch.exp(policy) * (policy - reference)).sum(dim=1)


def k3(policy: Tensor, reference: Tensor) -> Tensor:
    """One estimate for each row of (batch, length)."""
    per_token = torch.exp(reference - policy) - (reference - policy) - 1
    return per_token.sum(dim=1)


COURSE = token_kl.Course(
    prepare=token_kl.either(exact=exact, k3=k3),
    laid_out=torch.from_numpy,
    gathered=lambda outputs: torch.cat(outputs).numpy(),
)


def main() -> None:
    """Serve the cases without autograd: only the values are asked for."""
    options = protocol.parser(__doc__).parse_args()
    torch.set_num_threads(protocol.threads())
    with torch.inference_mode():
        token_kl.run(options, COURSE)


if __name__ == "__main__":
    main()
