"""Which limits of a launch the daemon's kernel enforces. The daemon answers, for records and for doctor."""

from collections.abc import Mapping
from typing import Any

# The name of each limit in ``docker info``, and its name in a record.
_LIMITS = {"CPUSet": "cpuset", "MemoryLimit": "memory_bytes", "SwapLimit": "swap", "PidsLimit": "pids"}


def enforced_by(information: Mapping[str, Any]) -> tuple[str, ...]:
    """The limits that the daemon enforces, by their names in a record.

    A limit that the daemon does not report is left out.

    A rootless daemon without delegation enforces no limit. A kernel that does not count swap enforces all others.
    Both start a container anyway, with a warning that the interface does not return.
    """
    return tuple(name for key, name in _LIMITS.items() if information.get(key) is True)


def unlimited(information: Mapping[str, Any]) -> str | None:
    """Why launches of a daemon cannot be held to their limits at all, or None. Podman answers as Docker does."""
    options = information.get("SecurityOptions") or ()
    if any("name=rootless" in str(each) for each in options) and str(information.get("CgroupVersion")) == "1":
        return (
            "its daemon runs without root on cgroup v1, and can limit neither CPUs nor memory; run it as root"
        )
    return None
