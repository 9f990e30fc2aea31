"""The parameters that sizes of input files are made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baselines.contract import protocol


def whole(parameters: Mapping[str, Any], name: str, directory: Path) -> int:
    """A parameter that is a whole number from 1; leaves with exit code 2 where it is not."""
    size = parameters.get(name)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        protocol.refuse(
            f"parameter {name!r} of case {directory.name} is {size!r}; give a whole number from 1"
        )
    return size
