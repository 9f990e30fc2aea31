"""The gradient steps of a training by a library that trains with PyTorch, counted from outside."""

from typing import Any

import torch


class GradientSteps:
    """Counts the steps of optimisers, each of which is one minibatch's, where they happen."""

    def __init__(self, *optimizers: torch.optim.Optimizer) -> None:
        self.count = 0
        for optimizer in optimizers:
            optimizer.register_step_post_hook(self._one_more)

    def _one_more(self, *_: Any) -> None:
        self.count += 1
