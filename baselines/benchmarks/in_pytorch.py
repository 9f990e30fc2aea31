"""What the post-training operations in PyTorch share: tensors over NumPy's memory, and no autograd."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray

from baselines.contract import protocol

Course = TypeVar("Course")

laid_out = torch.from_numpy


def gathered(outputs: list[Any]) -> NDArray[Any]:
    """The tensors of several calls as one array: converting them one by one takes longer than short calls."""
    array: NDArray[Any] = (outputs[0] if len(outputs) == 1 else torch.cat(outputs)).numpy()
    return array


def serve(description: str | None, run: Callable[[Any, Course], None], course: Course) -> None:
    """Serve the cases on the launch's threads. Only values are asked for, and no gradient of them."""
    options = protocol.parser(description).parse_args()
    torch.set_num_threads(protocol.threads())
    with torch.inference_mode():
        run(options, course)
