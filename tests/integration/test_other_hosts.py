"""Cells on another machine over SSH: what is known of it, and what a cut connection leaves."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from another_host import AnotherHost, another_host
from conftest import ROOT
from own_daemon import hanging, printing

from runner.executors.base import LaunchRequest
from runner.executors.host import HostExecutor
from runner.matrix import Limits, Platform
from runner.records.execution import ExecutionKind
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import HostAway

LIMITS = Limits(name="small", cpus=1, memory_bytes=64 * 2**20, pids=16, threads=1)


@pytest.fixture(scope="module")
def host() -> Iterator[AnotherHost]:
    with another_host() as there:
        yield there


@pytest.fixture
def platform(host: AnotherHost) -> Platform:
    return Platform(name="there", architecture=machine.architecture(), host=host.address)


@pytest.fixture
def executor(
    host: AnotherHost, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HostExecutor]:
    monkeypatch.setenv("PATH", host.environment["PATH"])

    def no_image(*_: object) -> None:
        raise AssertionError("no image is sent here")

    there = HostExecutor(platform.name, host.address, Path("/checkout"), own_image=no_image)
    yield there
    there.close()


def request(host: AnotherHost, platform: Platform, program: bytes, lines: list[str]) -> LaunchRequest:
    """A launch of a small program that is there."""
    image = ImageFacts(
        target="small", architecture=platform.architecture, identity=None, execution_hash="0" * 64,
        config_digest=host.daemon.import_image("small", {"program": program}), manifest_digest=None,
    )  # fmt: skip
    return LaunchRequest(
        name="small", image=image, platform=platform, command=("/program",), limits=LIMITS, deadline_seconds=60.0,
        input_directory=None, output_directory=None, on_line=lambda line, _: lines.append(line),
    )  # fmt: skip


def test_the_probe_describes_the_machine_as_it_would_describe_itself(executor, platform):
    seen, own = executor.machine(platform), machine.describe()
    assert {key: seen[key] for key in own if key != "os"} == {key: own[key] for key in own if key != "os"}
    assert len(seen["daemon"]) == 16
    assert "127.0.0.1" not in str(seen)
    assert executor.execution(platform).kind is ExecutionKind.NATIVE
    state = executor.state(platform)
    assert state.keys() == machine.state().keys()
    assert state["memory_available_bytes"] <= own["memory_bytes"]
    assert state["load_1m"] is not None


def test_a_launch_there_is_held_to_its_cpus_and_leaves_nothing(host, executor, platform):
    lines: list[str] = []
    result = executor.launch(request(host, platform, printing({"event": "ready"}), lines))
    assert (result.exit_code, lines) == (0, ['{"event": "ready"}'])
    assert result.limits.cpus == executor.cpus(LIMITS, platform).cpus
    assert {"cpuset", "memory_bytes", "deadline"} <= {*result.limits.enforced}
    assert host.left() == []


def test_a_deadline_is_kept_there(host, executor, platform):
    result = executor.launch(replace(request(host, platform, hanging(), []), deadline_seconds=1.0))
    assert result.stopped is not None
    assert host.left() == []


def test_a_cut_connection_voids_the_launch_and_the_next_one_removes_what_it_left(host, executor, platform):
    cut: list[int] = []

    def cut_soon() -> None:
        while not host.left():
            pass
        cut.append(host.cut())

    cutter = threading.Thread(target=cut_soon)
    cutter.start()
    with pytest.raises(HostAway, match="there cannot be reached"):
        executor.launch(request(host, platform, hanging(), []))
    cutter.join()
    assert cut == [1]
    assert len(host.left()) == 1, "it ran on without its runner"
    lines: list[str] = []
    assert executor.launch(request(host, platform, printing("again"), lines)).exit_code == 0
    assert lines == ['"again"']
    assert (host.left(), host.volumes()) == ([], [])


def test_a_machine_that_lets_nobody_in_is_away(host, platform, monkeypatch):
    monkeypatch.setenv("PATH", host.environment["PATH"])
    with pytest.raises(HostAway) as caught:
        HostExecutor("away", "ssh://board@127.0.0.1:1", Path("/checkout"), own_image=lambda *_: None)
    assert "refused" in caught.value.why


def test_a_run_loses_nothing_by_a_cut_and_goes_on_where_another_machine_is_away(
    images: None, host: AnotherHost, shipped_matrix: Callable[..., Path], tmp_path: Path
) -> None:
    del images

    def add_machines(matrix: dict[str, Any]) -> None:
        here = machine.architecture()
        matrix["platforms"]["there"] = {"architecture": here, "host": host.address}
        matrix["platforms"]["away"] = {"architecture": here, "host": "ssh://board@127.0.0.1:1"}

    def run() -> "subprocess.CompletedProcess[str]":
        command = [
            sys.executable,
            "-m",
            "runner",
            "--profile",
            "smoke",
            "--only",
            "gae/numpy",
            "--only",
            "gae/rust",
        ]
        where = ["--matrix", str(matrix), "--results", str(tmp_path / "results")]
        platforms = ["--platform", "there", "--platform", "away"]
        return subprocess.run(
            [*command, *where, *platforms], cwd=ROOT, env=dict(host.environment), capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip

    matrix = shipped_matrix(add_machines)
    ended = threading.Event()

    def cut_in_the_middle() -> None:
        # The launch, and not its keeper, is named after its implementation.
        while not ended.is_set():
            if "forge-bench-gae-rust" in host.daemon.docker("ps", "--format", "{{.Names}}").stdout:
                host.cut()
                return

    cutter = threading.Thread(target=cut_in_the_middle)
    cutter.start()
    first = run()
    ended.set()
    cutter.join()
    assert first.returncode == HostAway.exit_code, first.stderr
    assert "begins again" in first.stderr
    assert "the cells of away were not run: host away" in first.stderr
    records = Store(tmp_path / "results").records()
    assert {record.platform for record in records} == {"there"}
    assert len(records) == 2 * 7
    assert not any(record.failed for record in records)
    assert {record.execution.kind for record in records} == {ExecutionKind.NATIVE}
    assert all(record.machine.daemon and record.machine.cpu_model for record in records), (
        "whose machine it was"
    )
    assert (host.left(), host.volumes()) == ([], [])
    again = run()
    assert "0 cells run, 14 reused" in again.stderr
    assert "sending" in first.stderr
    assert "sending" not in again.stderr
