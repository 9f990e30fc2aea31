"""Cells on another machine over SSH: what is known of it, and what a cut connection leaves."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from another_host import AnotherHost, another_host
from conftest import ROOT
from own_daemon import hanging, printing
from slow_connection import slow_connection

from runner.executors.base import LaunchRequest
from runner.executors.host import HostExecutor
from runner.matrix import Limits, Platform
from runner.records.execution import ExecutionKind
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import HostAway

CUTS = 8
# A launch without files and referee; one with both is counted in tests/unit/executors/test_round_trips.py.
ROUND_TRIPS = 6
# Seconds of a round trip, so long that a busy machine hardly adds one.
FAR = 0.3
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


def test_a_cut_at_any_moment_spares_a_launch_or_voids_it_and_leaves_nothing(host, executor, platform):
    asked = request(host, platform, printing("once"), [])
    executor.launch(asked)
    duration = timed(executor, asked)
    ends: list[str] = []
    for seed in range(CUTS):
        moment = float(np.random.default_rng(seed).uniform(0, duration))
        told = f"seed {seed}, {1000 * moment:.0f} ms after its start"
        lines: list[str] = []
        noted = request(host, platform, printing("once"), lines)
        cutter = threading.Timer(moment, host.cut)
        cutter.start()
        try:
            result = executor.launch(noted)
        except HostAway:
            ends.append("void")
        else:
            ends.append("spared")
            assert (result.exit_code, lines) == (0, ['"once"']), told
        cutter.join()
        lines.clear()
        try:
            result = executor.launch(noted)
        except HostAway:
            # Its connection was cut after the launch before, so this one is void in its place.
            assert ends[-1] == "spared", told
            lines.clear()
            result = executor.launch(noted)
        assert (result.exit_code, lines) == (0, ['"once"']), told
        assert (host.left(), host.volumes()) == ([], []), told
    assert "void" in ends, f"no cut met a launch that takes {duration:.1f} s: {ends}"


def test_a_launch_far_away_costs_few_round_trips(host, platform, monkeypatch):
    monkeypatch.setenv("PATH", host.environment["PATH"])
    seconds = {}
    for far in (0.0, FAR):
        with slow_connection(host.port, far) as port:
            address = host.address.replace(f":{host.port}", f":{port}")
            there = HostExecutor("far", address, Path("/checkout"), own_image=lambda *_: None)
            asked = request(host, replace(platform, host=address), printing("once"), [])
            there.launch(asked)
            seconds[far] = min(timed(there, asked) for _ in range(3))
            there.close()
    trips = (seconds[FAR] - seconds[0.0]) / FAR
    assert trips < ROUND_TRIPS + 1, f"{trips:.1f} round trips"


def timed(executor: HostExecutor, asked: LaunchRequest) -> float:
    """The seconds of a launch."""
    begun = time.monotonic()
    executor.launch(asked)
    return time.monotonic() - begun


def test_a_machine_that_lets_nobody_in_is_away(host, platform, monkeypatch):
    monkeypatch.setenv("PATH", host.environment["PATH"])
    with pytest.raises(HostAway) as caught:
        HostExecutor("away", "ssh://board@127.0.0.1:1", Path("/checkout"), own_image=lambda *_: None)
    assert "refused" in caught.value.why


@dataclass(frozen=True)
class Calls:
    """Calls of the runner on this machine and on others, with results of their own."""

    host: AnotherHost
    matrix: Path
    results: Path

    @property
    def records(self) -> list[Record]:
        return Store(self.results).records()

    def begin(self, *platforms: str, fresh: bool = False) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "runner", "--profile", "smoke"]
        command += ["--only", "gae/numpy", "--only", "gae/rust"]
        command += ["--matrix", str(self.matrix), "--results", str(self.results)]
        command += [word for each in platforms for word in ("--platform", each)]
        command += ["--fresh"] if fresh else []
        return subprocess.Popen(
            command, cwd=ROOT, env=dict(self.host.environment), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def end(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        try:
            _, said = process.communicate(timeout=900)
        except BaseException:
            process.kill()
            raise
        return process.returncode, said

    def call(self, *platforms: str, fresh: bool = False) -> tuple[int, str]:
        return self.end(self.begin(*platforms, fresh=fresh))

    def wait_for_a_launch_there(self, process: "subprocess.Popen[str]") -> None:
        """The launch, and not its keeper, is named after its implementation."""
        while "forge-bench-gae-rust" not in self.host.daemon.docker("ps", "--format", "{{.Names}}").stdout:
            assert process.poll() is None, process.communicate()


@pytest.fixture
def calls(images: None, host: AnotherHost, shipped_matrix: Callable[..., Path], tmp_path: Path) -> Calls:
    del images

    def add_machines(matrix: dict[str, Any]) -> None:
        here = machine.architecture()
        matrix["platforms"]["there"] = {"architecture": here, "host": host.address}
        matrix["platforms"]["away"] = {"architecture": here, "host": "ssh://board@127.0.0.1:1"}

    return Calls(host, shipped_matrix(add_machines), tmp_path / "results")


def test_a_run_loses_nothing_by_a_cut_and_goes_on_where_another_machine_is_away(calls: Calls) -> None:
    host = calls.host
    process = calls.begin("there", "away")
    calls.wait_for_a_launch_there(process)
    host.cut()
    code, said = calls.end(process)
    assert code == HostAway.exit_code, said
    assert "begins again" in said
    assert "the cells of away were not run: host away" in said
    records = calls.records
    assert {record.platform for record in records} == {"there"}
    assert len(records) == 2 * 7
    assert not any(record.failed for record in records)
    assert {record.execution.kind for record in records} == {ExecutionKind.NATIVE}
    assert all(record.machine.daemon and record.machine.cpu_model for record in records), (
        "whose machine it was"
    )
    assert all(record.referee.vmhwm_bytes > 2**20 for record in records), "read by the probe"
    windows = [record.referee.windows[-1] for record in records]
    assert all(0 < each.cpu_seconds < 2 * each.seconds + 0.05 for each in windows), "told by the daemon"
    assert (host.left(), host.volumes()) == ([], [])
    _, again = calls.call("there", "away")
    assert "0 cells run, 14 reused" in again
    assert "sending" in said
    assert "sending" not in again


def spans(records: list[Record], platform: str) -> list[tuple[datetime, datetime]]:
    """When each launch of a platform ran."""
    launches = {record.launch.id: record.launch for record in records if record.platform == platform}
    starts = {each: datetime.fromisoformat(launch.started_at) for each, launch in launches.items()}
    return [(start, start + timedelta(seconds=launches[each].wall_seconds)) for each, start in starts.items()]


def test_two_machines_measure_at_once_and_one_that_dies_does_not_stop_the_other(calls: Calls) -> None:
    host, here = calls.host, machine.architecture()
    process = calls.begin(here, "there")
    calls.wait_for_a_launch_there(process)
    host.daemon.kill()
    host.cut()
    code, said = calls.end(process)
    assert code == HostAway.exit_code, said
    records = calls.records
    assert len([each for each in records if each.platform == here]) == 2 * 7
    assert not any(each.failed for each in records)
    assert "not run, host away: gae rust there" in said
    host.daemon.start()
    host.daemon.socket.chmod(0o666)
    code, said = calls.call(here, "there")
    assert code == 0, said
    # What there was measured of the room before counts no more: a ratio is of one run.
    before = len(calls.records)
    assert len({each.key for each in calls.records}) == 2 * 2 * 7
    assert (host.left(), host.volumes()) == ([], [])
    code, said = calls.call(here, "there", fresh=True)
    assert code == 0, said
    fresh = calls.records[before:]
    assert any(
        start < other_end and other_start < end
        for start, end in spans(fresh, here)
        for other_start, other_end in spans(fresh, "there")
    ), "no two launches ran at the same time"


def test_ctrl_c_removes_the_launches_of_all_machines(calls: Calls) -> None:
    process = calls.begin(machine.architecture(), "there")
    calls.wait_for_a_launch_there(process)
    process.send_signal(signal.SIGINT)
    code, said = calls.end(process)
    assert code == 130, said
    assert (calls.host.left(), calls.host.volumes()) == ([], [])
    probes = calls.host.daemon.docker("ps", "--all", "--format", "{{.Image}}").stdout
    assert probes == "", "a process left its machine"
