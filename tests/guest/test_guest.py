"""The edge image on a whole arm64 machine, which the runner reaches over SSH as it would reach a board."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from runner.executors.sweep import OWNER_LABEL
from runner.records.execution import ExecutionKind
from runner.records.record import Record
from runner.records.store import Store
from runner.system import machine
from tests.guest.own_guest import ROOT, WHY_NOT, OwnGuest, own_guest, possible

_WEIGHTS = "weights.safetensors"
# Images are built, sent over SSH, and unpacked by a daemon that QEMU computes.
_SECONDS = 3000


@pytest.fixture(scope="module")
def guest() -> Iterator[OwnGuest]:
    if not possible():
        pytest.skip(WHY_NOT)
    with own_guest() as started:
        yield started


def trained(guest: OwnGuest, address: str, directory: Path) -> tuple[Record, Record]:
    """DQN by the edge image on this machine and through a daemon of that one, by the shipped matrix.

    The reference trains on this machine alone.
    """
    matrix = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    matrix["platforms"]["guest"] = {"architecture": "arm64", "host": address}
    matrix["benchmarks"]["edge"]["profiles"]["smoke"]["emulated_without"] = ["pytorch", "rust-core"]
    path, results, here = directory / "matrix.yaml", directory / "results", machine.architecture()
    path.write_text(yaml.safe_dump(matrix, sort_keys=False), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "runner",
        "--profile",
        "smoke",
        "--only",
        "edge/pytorch",
        "--only",
        "edge/rust",
    ]
    command += ["--platform", here, "--platform", "guest", "--matrix", str(path), "--results", str(results)]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(guest.environment), capture_output=True, text=True, timeout=_SECONDS, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found = {each.platform: each for each in Store(results).records() if each.implementation == "rust"}
    assert found.keys() == {here, "guest"}
    return found[here], found["guest"]


def test_it_is_an_arm64_machine_whose_control_groups_are_of_version_2(guest: OwnGuest) -> None:
    assert guest.run("uname --machine").strip() == "aarch64"
    assert guest.run("stat --file-system --format %T /sys/fs/cgroup").strip() == "cgroup2fs"


@pytest.mark.parametrize("daemon", ["docker", "podman"])
def test_the_edge_image_trains_there_to_the_bytes_of_this_machine(
    guest: OwnGuest, daemon: str, tmp_path: Path
) -> None:
    address = guest.docker if daemon == "docker" else guest.podman
    here, there = trained(guest, address, tmp_path)
    assert there.outputs[_WEIGHTS] == here.outputs[_WEIGHTS]
    assert (there.execution.kind, there.execution.emulator) == (ExecutionKind.EMULATED, "QEMU TCG")
    assert {"cpuset", "memory_bytes", "pids", "deadline"} <= {*there.launch.limits.enforced}
    assert there.referee
    assert there.referee.windows[-1].cpu_seconds
    listed = guest.run(f"{daemon} ps --all --quiet --filter label={OWNER_LABEL}", as_user=daemon == "podman")
    assert listed == ""
