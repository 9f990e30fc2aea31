"""Invented states of a host: one in which all is well, to be bent by the tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hosts import ARM, READY

from runner.host.mirror import Mirror
from runner.host.state import Daemon, HostState, Machine, Place, Results, Wanted
from runner.matrix.toolchain import Toolchain

GIB, GB = 2**30, 10**9
TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0")
SERVED = {
    "rust": frozenset({"1.96.0"}),
    "python": frozenset({"3.13.5"}),
    "pytorch": frozenset({"2.6.0"}),
}
MIRROR = Mirror(url="http://mirror.example/debian", suite="trixie", problem=None, served=SERVED)
DAEMON = Daemon(
    problem=None,
    host="unix:///var/run/docker.sock",
    client="28.2.2",
    information={
        "ServerVersion": "20.10.24",
        "MemTotal": 16 * GIB,
        "NCPU": 8,
        "CPUSet": True,
        "MemoryLimit": True,
        "SwapLimit": True,
        "PidsLimit": True,
        "CgroupVersion": "2",
        "Driver": "overlay2",
    },
)
MACHINE = Machine(
    cpus=8,
    memory_bytes=16 * GIB,
    memory_available_bytes=12 * GIB,
    swap_bytes=0,
    load_1m=0.1,
    governor="performance",
)
WELL = HostState(
    executor="docker",
    inside_image=False,
    wanted=Wanted(
        toolchains=(TOOLCHAIN,),
        images=("forge-bench:core-trixie-amd64", "forge-bench:core-trixie-arm64"),
        foreign=ARM,
        memory_bytes=4 * GIB,
        cpus=1,
    ),
    host=READY,
    daemon=DAEMON,
    missing_images=(),
    trial={"arm64": True},
    unprivileged=None,
    mirrors=(MIRROR,),
    locked={"trixie": SERVED},
    places=(Place(path=Path("/"), holds=("images",), free_bytes=50 * GB, needed_bytes=8 * GB),),
    results=Results(path=Path("/results")),
    damaged=(),
    left_out={},
    machine=MACHINE,
)


def but(**changes: Any) -> HostState:
    """All is well but for this."""
    return replace(WELL, **changes)
