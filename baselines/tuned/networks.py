"""Networks as functions of their weights, without modules and without autograd."""

from collections.abc import Callable, Sequence

from torch import Tensor
from torch.nn.functional import linear


def dense(weights: Sequence[Tensor], values: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Linear layers, weight and bias in turn, with the activation between them."""
    for index in range(0, len(weights), 2):
        if index:
            values = activation(values)
        values = linear(values, weights[index], weights[index + 1])
    return values


def detached(parameters: Sequence[Tensor]) -> list[Tensor]:
    """The same memory without autograd: acting with it records nothing."""
    return [each.detach() for each in parameters]
