"""What the docker executor makes of what a daemon says of itself; the daemons are invented."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from runner.executors import docker
from runner.executors.base import ImageFacts, LaunchRequest
from runner.executors.docker import DockerExecutor
from runner.matrix import Limits, Platform

INFORMATION: dict[str, Any] = {
    "Architecture": "x86_64",
    "NCPU": 8,
    "CPUSet": True,
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
}
IMAGE = ImageFacts(
    target="core",
    architecture="amd64",
    identity="0" * 64,
    execution_hash="0" * 64,
    config_digest="sha256:" + "0" * 64,
    manifest_digest=None,
)
REQUEST = LaunchRequest(
    name="x",
    image=IMAGE,
    platform=Platform(name="amd64", architecture="amd64"),
    command=("true",),
    limits=Limits(name="one", cpus=1, memory_bytes=2**30, pids=64, threads=1),
    deadline_seconds=10.0,
    input_directory=None,
    output_directory=None,
    on_line=lambda _: None,
)


def executor_of(monkeypatch: pytest.MonkeyPatch, **said: Any) -> DockerExecutor:
    """An executor on a daemon that says this of itself, and that starts no container."""

    def refuse(*_: Any, **__: Any) -> None:
        raise APIError("no")

    client = SimpleNamespace(containers=SimpleNamespace(create=refuse))
    monkeypatch.setattr(docker, "connect", lambda **_: (client, {**INFORMATION, **said}))
    return DockerExecutor(Path("/checkout"), Path("/logs"))


def test_a_record_calls_enforced_what_its_daemon_enforces(monkeypatch):
    enforced = executor_of(monkeypatch).launch(REQUEST).limits.enforced
    assert enforced[:4] == ("cpuset", "memory_bytes", "swap", "pids")
    assert {"deadline", "network", "read-only", "outputs"} == set(enforced[4:])


def test_a_record_of_a_rootless_daemon_without_delegation_does_not_call_its_limits_enforced(monkeypatch):
    rootless = dict.fromkeys(("CPUSet", "MemoryLimit", "SwapLimit", "PidsLimit"), False)
    enforced = executor_of(monkeypatch, **rootless).launch(REQUEST).limits.enforced
    assert set(enforced) == {"deadline", "network", "read-only", "outputs"}
