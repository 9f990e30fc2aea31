"""What the trainings by PyTorch share besides `training.py`: its seed and threads, and tensors at the contract's edge."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from baselines.benchmarks import training
from baselines.benchmarks.library import Library
from baselines.contract import protocol


def integers(values: Sequence[int]) -> Tensor:
    """A trace's tensor of whole numbers, i64."""
    return torch.tensor(values, dtype=torch.int64)


def weight_bound(weight: Tensor) -> Tensor:
    """The largest magnitude of a weight (outputs, inputs) times sqrt(inputs): 1 by PyTorch's own initialisation."""
    return (weight.detach().abs().max() * weight.shape[1] ** 0.5).reshape(1)


def in_double_precision(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same data as f64; actions of a discrete kind stay whole numbers."""
    return {key: value.double() if value.is_floating_point() else value for key, value in given.items()}


def with_exact(result: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The results of parity updates, and beside them as `exact.*` the `after.*` of the same in double precision."""
    return {**result} | {
        name.replace("after.", "exact."): value for name, value in exact.items() if name.startswith("after.")
    }


def array_of(tensor: Tensor) -> NDArray[Any]:
    """A tensor's numbers, without a copy where they lie one after another."""
    array: NDArray[Any] = tensor.detach().contiguous().numpy()
    return array


# For the benchmarks of networks; the program that serves one sets the threads.
TENSORS = Library(
    put=torch.from_numpy, get=array_of, gathered=lambda arrays: array_of(torch.cat(list(arrays)))
)


def write(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write an output file of tensors."""
    training.write(file, {name: array_of(tensor) for name, tensor in tensors.items()})


def _start() -> None:
    torch.set_num_threads(protocol.threads())
    # PyTorch imports the rest of itself with the first optimiser.
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])


PYTORCH = training.Library(start=_start, seed=torch.manual_seed, read=load_file, array=array_of)
