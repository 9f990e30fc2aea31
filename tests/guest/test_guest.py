"""The edge image on a whole arm64 machine, which the runner reaches over SSH as it would reach a board."""

import hashlib
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

WEIGHTS = "weights.safetensors"
# Images are built, sent over SSH, and unpacked by a daemon that QEMU computes.
_SECONDS = 3000


@pytest.fixture(scope="module")
def guest() -> Iterator[OwnGuest]:
    if not possible():
        pytest.skip(WHY_NOT)
    with own_guest() as started:
        yield started


def trained_there(guest: OwnGuest, address: str, directory: Path) -> Record:
    """DQN by the edge image through a daemon of that machine, where the reference trains too."""
    matrix = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    matrix["platforms"]["guest"] = {"architecture": "arm64", "host": address}
    path, results = directory / "matrix.yaml", directory / "results"
    path.write_text(yaml.safe_dump(matrix, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "runner", "--profile", "smoke", "--only", "edge/rust"]
    command += ["--platform", "guest", "--matrix", str(path), "--results", str(results)]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(guest.environment), capture_output=True, text=True, timeout=_SECONDS, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    [found] = [each for each in Store(results).records() if each.implementation == "rust"]
    return found


def weights_here(directory: Path, steps: int) -> str:
    """The hash of the same training's weights by the edge image of this machine."""
    directory.chmod(0o777)
    image = f"forge-bench:edge-trixie-{machine.architecture()}"
    subprocess.run([sys.executable, "-m", "runner", "build", "--only", "edge"], cwd=ROOT, check=True)
    run = ["docker", "run", "--rm", "--network", "none", "--volume", f"{directory}:/here", image]
    subprocess.run([*run, "dqn", "--steps", str(steps), "--seed", "1", "--output", "/here"], check=True)
    return hashlib.sha256((directory / WEIGHTS).read_bytes()).hexdigest()


def test_it_is_an_arm64_machine_whose_control_groups_are_of_version_2(guest: OwnGuest) -> None:
    assert guest.run("uname --machine").strip() == "aarch64"
    assert guest.run("stat --file-system --format %T /sys/fs/cgroup").strip() == "cgroup2fs"


@pytest.mark.parametrize("daemon", ["docker", "podman"])
def test_the_edge_image_trains_there_to_the_bytes_of_this_machine(
    guest: OwnGuest, daemon: str, tmp_path: Path
) -> None:
    address = guest.docker if daemon == "docker" else guest.podman
    there = trained_there(guest, address, tmp_path)
    assert there.outputs[f"1/{WEIGHTS}"] == weights_here(tmp_path, there.parameters["steps"])
    assert (there.execution.kind, there.execution.emulator) == (ExecutionKind.EMULATED, "QEMU TCG")
    # Rootless Podman says of itself that it holds nobody to CPUs.
    held = {"memory_bytes", "pids", "deadline", *(["cpuset"] if daemon == "docker" else [])}
    assert held <= {*there.launch.limits.enforced}
    assert there.referee
    assert there.referee.windows[-1].cpu_seconds
    listed = guest.run(f"{daemon} ps --all --quiet --filter label={OWNER_LABEL}", as_user=daemon == "podman")
    assert listed == ""
