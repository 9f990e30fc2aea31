"""What the docker executor makes of what a daemon says of itself; the daemons are invented."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError
from msgspec import structs

from executors.invented_daemon import InventedDaemon
from runner.daemon import whereabouts
from runner.daemon.endpoint import Endpoint
from runner.executors import own_site
from runner.executors.base import LaunchRequest
from runner.executors.docker import DockerExecutor
from runner.executors.own_site import OwnSite
from runner.matrix import Limits, Platform
from runner.records.execution import ExecutionKind
from runner.records.image import ImageFacts
from runner.system import machine
from runner.system.errors import ClientMisconfigured

GIB = 2**30
INFORMATION: dict[str, Any] = {
    "Architecture": "x86_64",
    "OperatingSystem": "Debian GNU/Linux 13 (trixie)",
    "KernelVersion": "6.12.1",
    "ID": "7TRN:IPZB:QYBB",
    "Name": "secret-name",
    "NCPU": 8,
    "MemTotal": 16 * GIB,
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
AMD, ARM = (Platform(name=name, architecture=name) for name in ("amd64", "arm64"))
REQUEST = LaunchRequest(
    name="x",
    image=IMAGE,
    platform=AMD,
    command=("true",),
    limits=Limits(name="one", cpus=1, memory_bytes=2**30, pids=64, threads=1),
    deadline_seconds=10.0,
    input_directory=None,
    output_directory=None,
    on_line=lambda *_: None,
)


SOCKET = "unix:///var/run/docker.sock"


@pytest.fixture(autouse=True)
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine as INFORMATION says of it."""
    monkeypatch.setattr(machine, "architecture", lambda: "amd64")
    monkeypatch.setattr(whereabouts.platform, "release", lambda: "6.12.1")
    monkeypatch.setattr(whereabouts.os, "cpu_count", lambda: 8)
    memory = SimpleNamespace(total=16 * GIB)
    monkeypatch.setattr(whereabouts, "psutil", SimpleNamespace(virtual_memory=lambda: memory))


def executor_of(monkeypatch: pytest.MonkeyPatch, host: str = SOCKET, **said: Any) -> DockerExecutor:
    """An executor on a daemon that says this of itself, and that starts no container."""

    def refuse(*_: Any, **__: Any) -> None:
        raise APIError("no")

    image = SimpleNamespace(attrs={"Config": {"Env": None}})
    client = SimpleNamespace(
        api=SimpleNamespace(create_host_config=refuse), images=SimpleNamespace(get=lambda _: image)
    )
    monkeypatch.setattr(own_site, "connect", lambda **_: (client, {**INFORMATION, **said}))
    monkeypatch.setattr(own_site, "current_endpoint", lambda: Endpoint(context="default", host=host))
    return DockerExecutor(OwnSite(Path("/checkout"), Path("/logs")), Path("/checkout"))


def test_a_record_calls_enforced_what_its_daemon_enforces(monkeypatch):
    enforced = executor_of(monkeypatch).launch(REQUEST).limits.enforced
    assert enforced[:4] == ("cpuset", "memory_bytes", "swap", "pids")
    assert {"deadline", "network", "read-only", "outputs"} == set(enforced[4:])


def test_a_record_of_a_rootless_daemon_without_delegation_does_not_call_its_limits_enforced(monkeypatch):
    rootless = dict.fromkeys(("CPUSet", "MemoryLimit", "SwapLimit", "PidsLimit"), False)
    enforced = executor_of(monkeypatch, **rootless).launch(REQUEST).limits.enforced
    assert set(enforced) == {"deadline", "network", "read-only", "outputs"}


def test_a_launch_that_asks_for_more_cpus_than_the_daemon_has_is_not_started(monkeypatch):
    monkeypatch.setattr(own_site, "usable_cpus", lambda cpus: tuple(range(cpus)))
    limits = replace(REQUEST.limits, cpus=9)
    executor = executor_of(monkeypatch)
    assert executor.cpus(limits, AMD).too_few(9) == "its limits ask for 9 CPUs, and 8 may be used here"
    result = executor.launch(replace(REQUEST, limits=limits))
    assert result.not_started == executor.cpus(limits, AMD).too_few(9)


def test_of_a_daemon_elsewhere_nothing_is_known_of_what_shares_a_core(monkeypatch):
    executor = executor_of(monkeypatch, KernelVersion="6.6.6")
    assert executor.cpus(replace(REQUEST.limits, cpus=2), AMD).siblings is None


@pytest.mark.parametrize("host", [SOCKET, "tcp://docker:2376"])
@pytest.mark.parametrize("cpus", [8, 6], ids=["all CPUs", "a daemon pinned to some"])
def test_a_daemon_on_this_kernel_runs_natively_on_this_machine_however_it_is_reached(monkeypatch, host, cpus):
    executor = executor_of(monkeypatch, host, NCPU=cpus)
    assert executor.execution(AMD).kind is ExecutionKind.NATIVE
    assert executor.machine(AMD) == machine.describe()
    assert set(executor.state(AMD)) == set(machine.state())


OTHERS: dict[str, dict[str, Any]] = {
    "another kernel": {"KernelVersion": "6.12.2"},
    "more CPUs": {"NCPU": 64},
    "other memory": {"MemTotal": 16 * GIB - 4096},
    "more memory": {"MemTotal": 64 * GIB},
    "says nothing": {"KernelVersion": None, "MemTotal": None},
}


@pytest.mark.parametrize("host", ["ssh://me@server", "tcp://server:2376", "unix:///tmp/forwarded.sock"])
@pytest.mark.parametrize("name", OTHERS)
def test_times_of_another_machine_are_ranked_with_nobody_and_bear_no_fact_of_this_one(
    monkeypatch, host, name
):
    executor = executor_of(monkeypatch, host, **OTHERS[name])
    assert executor.execution(AMD).kind is ExecutionKind.UNKNOWN
    assert executor.execution(ARM).kind is ExecutionKind.EMULATED
    assert executor.execution(ARM).emulator is None, "this kernel's emulator is not that one's"
    described = executor.machine(AMD)
    said = {**INFORMATION, **OTHERS[name]}
    assert (described["kernel"], described["memory_bytes"]) == (said["KernelVersion"], said["MemTotal"])
    assert {described[key] for key in ("cpu_model", "governor", "simd", "caches", "hypervisor")} == {None}
    assert set(executor.state(AMD).values()) == {None}
    assert "secret-name" not in str(described)


def test_two_servers_of_one_kind_are_two_machines_and_one_is_itself_after_a_new_kernel(monkeypatch):
    def fingerprint(identifier: str, kernel: str) -> dict[str, Any]:
        executor = executor_of(monkeypatch, "ssh://server", ID=identifier, KernelVersion=kernel)
        return machine.fingerprint(executor.machine(AMD))

    assert fingerprint("A", "6.1") != fingerprint("B", "6.1")
    assert fingerprint("A", "6.1") == fingerprint("A", "6.2")
    assert "A" not in fingerprint("A", "6.1").values()


DESKTOP = {
    "OperatingSystem": "Docker Desktop",
    "KernelVersion": "6.10.14-linuxkit",
    "NCPU": 4,
    "MemTotal": 8 * GIB,
}


def test_docker_desktop_runs_natively_on_a_part_of_this_machine(monkeypatch):
    executor = executor_of(monkeypatch, **DESKTOP)
    assert executor.execution(AMD).kind is ExecutionKind.NATIVE
    described, here = executor.machine(AMD), machine.describe()
    assert described["cpu_model"] == here["cpu_model"]
    assert (described["logical_cpus"], described["memory_bytes"]) == (4, 8 * GIB)
    assert (described["kernel"], described["os"], described["hypervisor"]) == (
        "6.10.14-linuxkit",
        "Docker Desktop",
        True,
    )


# Answers in the form of Colima's and Lima's daemons, written by hand. Neither was tried on a real Mac.
COLIMA = {"OperatingSystem": "Ubuntu 24.04.2 LTS", "KernelVersion": "6.8.0-57-generic", "Name": "colima"}
LIMA = {"OperatingSystem": "Ubuntu 25.04", "KernelVersion": "6.14.0-15-generic", "Name": "lima-docker"}


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("unix:///Users/me/.colima/default/docker.sock", COLIMA),
        ("unix:///Users/me/.lima/docker/sock/docker.sock", LIMA),
    ],
    ids=["Colima", "Lima"],
)
def test_a_virtual_machine_of_colima_or_lima_is_a_part_of_this_machine(monkeypatch, host, said):
    executor = executor_of(monkeypatch, host, **{**said, "NCPU": 2, "MemTotal": 2 * GIB})
    assert executor.execution(AMD).kind is ExecutionKind.NATIVE
    described = executor.machine(AMD)
    assert (described["logical_cpus"], described["hypervisor"]) == (2, True)
    # The same daemon behind a forwarded socket is another machine's.
    forwarded = executor_of(
        monkeypatch, "unix:///tmp/forwarded.sock", **{**said, "NCPU": 2, "MemTotal": 2 * GIB}
    )
    assert forwarded.execution(AMD).kind is ExecutionKind.UNKNOWN


PODMAN = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"], "ServerVersion": "4.3.1"}


@pytest.mark.parametrize(("version", "refused"), [("1", True), ("2", False)])
def test_a_daemon_without_root_is_refused_where_its_kernel_cannot_limit(monkeypatch, version, refused):
    executor = executor_of(monkeypatch, **{**PODMAN, "CgroupVersion": version})
    why = executor.left_out(None, AMD)
    assert ("cgroup v1" in why) if refused else why is None
    assert executor_of(monkeypatch, CgroupVersion="1").left_out(None, AMD) is None


@pytest.mark.parametrize(
    ("host", "said"),
    [("ssh://me@mac", {}), (SOCKET, {"NCPU": 12}), (SOCKET, {"Architecture": "aarch64"})],
    ids=["over SSH", "larger than this machine", "of another architecture"],
)
def test_docker_desktop_of_another_machine_is_another_machine(monkeypatch, host, said):
    executor = executor_of(monkeypatch, host, **{**DESKTOP, **said})
    own = ARM if said.get("Architecture") else AMD
    assert executor.execution(own).kind is ExecutionKind.UNKNOWN


def executor_at(daemon: InventedDaemon, monkeypatch: pytest.MonkeyPatch) -> DockerExecutor:
    """An executor on a daemon that makes keepers, and refuses to make the launch's container."""
    monkeypatch.setattr(own_site, "usable_cpus", lambda cpus: tuple(range(cpus)))
    monkeypatch.setattr(own_site, "topology_here", lambda: None)
    daemon.refuses = "forge-bench-x"
    executor = executor_of(monkeypatch)
    executor._client = daemon.client
    return executor


@pytest.mark.parametrize("executable_tmp", [False, True])
def test_the_keeper_sleeps_in_an_image_that_can_and_the_launch_runs_in_its_own(
    daemon, monkeypatch, tmp_path, executable_tmp
):
    theirs = "sha256:" + "1" * 64
    request = replace(
        REQUEST,
        image=structs.replace(IMAGE, target="theirs", config_digest=theirs),
        keeper_image=IMAGE,
        executable_tmp=executable_tmp,
        command=("/theirs", "run"),
        output_directory=tmp_path,
    )
    assert executor_at(daemon, monkeypatch).launch(request).not_started == "no"
    keeper, launch = daemon.wanted_as("forge-bench-keeper"), daemon.wanted_as("forge-bench-x")
    assert (keeper["Image"], keeper["Entrypoint"]) == (IMAGE.config_digest, ["sleep"])
    assert (launch["Image"], launch["Entrypoint"]) == (theirs, ["/theirs"])
    assert ("exec" in launch["HostConfig"]["Tmpfs"]["/tmp"].split(",")) is executable_tmp
    assert "exec" not in keeper["HostConfig"]["Tmpfs"]["/tmp"].split(",")


def test_a_daemon_is_asked_once_for_the_variables_of_an_image(daemon, monkeypatch, tmp_path):
    executor = executor_at(daemon, monkeypatch)
    for _ in range(2):
        executor.launch(replace(REQUEST, output_directory=tmp_path))
    assert daemon.requests["GET images json"] == 1


def test_a_container_that_got_other_variables_is_removed_and_was_never_started(daemon, monkeypatch, tmp_path):
    executor = executor_at(daemon, monkeypatch)
    daemon.refuses, daemon.adds = None, ["HTTPS_PROXY=http://user:password@proxy"]
    with pytest.raises(ClientMisconfigured, match="other variables"):
        executor.launch(replace(REQUEST, output_directory=tmp_path))
    daemon.time.settle()
    assert daemon.requests["DELETE containers"] == 2
    assert daemon.requests["POST containers start"] == 1, "the keeper's"


@pytest.mark.parametrize(
    ("cpus", "of_launch", "of_keeper"),
    [(1, "7", "6"), (7, "1,2,3,4,5,6,7", "0"), (8, "0,1,2,3,4,5,6,7", None)],
)
def test_the_keeper_beside_a_launch_is_held_to_a_cpu_that_the_launch_does_not_have_if_there_is_one(
    daemon, monkeypatch, tmp_path, cpus, of_launch, of_keeper
):
    request = replace(REQUEST, limits=replace(REQUEST.limits, cpus=cpus), output_directory=tmp_path)
    assert executor_at(daemon, monkeypatch).launch(request).not_started == "no"
    assert daemon.wanted_as("forge-bench-x")["HostConfig"]["CpusetCpus"] == of_launch
    assert daemon.wanted_as("forge-bench-keeper")["HostConfig"].get("CpusetCpus") == of_keeper
