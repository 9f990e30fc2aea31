"""Tensors of other libraries, as type checkers see them."""

from typing import Any, Protocol


class SupportsDLPack(Protocol):
    """A tensor whose memory NumPy reads without a copy, such as PyTorch's on the CPU."""

    def __dlpack__(self, *args: Any, **keywords: Any) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...
