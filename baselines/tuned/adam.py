"""Adam with as little around its kernel as can be, for eager PyTorch and for torch.compile."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

BETA_1, BETA_2 = 0.9, 0.999


class FusedAdam:
    """The kernel of `torch.optim.Adam(fused=True)`, called without the bookkeeping around it.

    Args:
        weights: what it steps, without autograd.
        learning_rate: may be set anew at any time.
        epsilon: beside the root.
    """

    def __init__(self, weights: Sequence[Tensor], learning_rate: float, epsilon: float = 1e-8) -> None:
        self.weights = list(weights)
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.first = [torch.zeros_like(each) for each in self.weights]
        self.second = [torch.zeros_like(each) for each in self.weights]
        self.steps = [torch.zeros(()) for _ in self.weights]

    def step(self, gradients: Sequence[Tensor]) -> None:
        """One step, in place."""
        torch._foreach_add_(self.steps, 1)
        torch._fused_adam_(
            self.weights,
            gradients,
            self.first,
            self.second,
            [],
            self.steps,
            lr=self.learning_rate,
            beta1=BETA_1,
            beta2=BETA_2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


# Weights, first and second moments, and the coefficients of one step.
State = tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]


class CompiledAdam:
    """Adam's state for a function that torch.compile makes one program of: it goes in, `adam` steps there.

    Args:
        weights: what is stepped, in place.
        learning_rate: of every step.
        epsilon: what is added to the root.
        together: how many steps such a program makes; each of them has bias corrections of its own.
    """

    def __init__(
        self, weights: Sequence[Tensor], learning_rate: float, epsilon: float = 1e-8, together: int = 1
    ) -> None:
        self.learning_rate = learning_rate
        self.steps = 0
        moments = [[torch.zeros_like(each) for each in weights] for _ in range(2)]
        self.coefficients = [np.array([0.0, 0.0, epsilon], dtype=np.float32) for _ in range(together)]
        self.states = [(list(weights), *moments, torch.from_numpy(each)) for each in self.coefficients]

    def next(self) -> State:
        """The state for one more step: its bias corrections are reckoned here, in double precision."""
        turn = self.steps % len(self.states)
        self.steps += 1
        self.coefficients[turn][0] = self.learning_rate / (1 - BETA_1**self.steps)
        self.coefficients[turn][1] = 1 / math.sqrt(1 - BETA_2**self.steps)
        return self.states[turn]


def adam(state: State, gradients: Sequence[Tensor]) -> None:
    """One step of Adam in plain operations, for torch.compile to fuse."""
    weights, firsts, seconds, (rate, correction, epsilon) = state
    for weight, gradient, first, second in zip(weights, gradients, firsts, seconds, strict=True):
        first.lerp_(gradient, 1 - BETA_1)
        second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        weight.sub_(rate * first / (second.sqrt() * correction + epsilon))
