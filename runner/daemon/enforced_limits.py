"""Which limits of a launch the daemon's kernel enforces: asked of the daemon, for records and for doctor alike."""

from collections.abc import Mapping
from typing import Any

# What ``docker info`` calls them, and what a record does.
_LIMITS = {"CPUSet": "cpuset", "MemoryLimit": "memory_bytes", "SwapLimit": "swap", "PidsLimit": "pids"}


def enforced_by(information: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that the daemon says it enforces, by a record's names for them; what it does not speak of is none.

    A rootless daemon without delegation enforces none, a kernel that does not count swap all but that one. Both start
    a container all the same, with a warning that no call of the interface shows.
    """
    return tuple(name for key, name in _LIMITS.items() if information.get(key) is True)
