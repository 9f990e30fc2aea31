"""`grpo` as fast as PyTorch does it: mean and deviation of one call, broadcast and in place."""

import torch
from torch import Tensor

from baselines.benchmarks import grpo
from baselines.contract import protocol


def advantages(rewards: Tensor) -> Tensor:
    """Advantages of rewards (groups, size)."""
    deviation, mean = torch.std_mean(rewards, dim=1, correction=0, keepdim=True)
    return (rewards - mean).div_(deviation.add_(grpo.EPSILON))


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
