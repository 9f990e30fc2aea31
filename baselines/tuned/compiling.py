"""How a function becomes one program of torch.compile, and how long that takes."""

import time
from collections.abc import Callable
from typing import Any

import torch


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one program, or an error where it cannot be one; made at its first call."""
    result: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
    return result


def seconds_of(call: Callable[[], object]) -> float:
    """How long a call takes: that of a compiled function's first, with data to throw away."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
