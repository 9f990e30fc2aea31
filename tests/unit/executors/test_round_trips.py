"""What a launch on another machine costs in round trips. A daemon behind a real socket counts them."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from executors.invented_daemon import InventedDaemon
from executors.test_docker import INFORMATION, REQUEST
from runner.executors import ssh_site
from runner.executors.base import LaunchRequest, LaunchResult
from runner.executors.channel import Channel
from runner.executors.host import HostExecutor

# A busy machine sends late what belongs together, which adds round trips and never takes any away.
_ATTEMPTS = 5


@pytest.fixture
def executor(daemon: InventedDaemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostExecutor]:
    tunnel = SimpleNamespace(endpoint=None, close=lambda: None)
    monkeypatch.setattr(ssh_site, "Tunnel", lambda *_: tunnel)
    monkeypatch.setattr(ssh_site, "connect", lambda **_: (daemon.client, INFORMATION))
    there = HostExecutor("there", "ssh://there", Path("/checkout"), own_image=lambda *_: None)
    there.launch(REQUEST_WITH_REFEREE)
    yield there
    there.close()


class Referee:
    """Lets a launch end as soon as it says something."""

    def opened(self, channel: Channel) -> None:
        self._channel = channel

    def heard(self, line: str, at: float) -> None:
        del at
        assert line == "ready"
        self._channel.close()


def refereed(request: LaunchRequest) -> LaunchRequest:
    referee = Referee()
    return replace(request, on_open=referee.opened, on_line=referee.heard)


REQUEST_WITH_REFEREE = refereed(REQUEST)


@pytest.fixture
def request_with_files(tmp_path: Path) -> LaunchRequest:
    """A launch that reads inputs and writes outputs."""
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    (tmp_path / "inputs" / "x").write_text("1", encoding="utf-8")
    return refereed(
        replace(REQUEST, input_directory=tmp_path / "inputs", output_directory=tmp_path / "outputs")
    )


def launched(executor: HostExecutor, request: LaunchRequest) -> LaunchResult:
    assert request.output_directory is not None
    for left in request.output_directory.iterdir():
        left.unlink()
    result = executor.launch(request)
    assert result.failure is None
    assert [each.name for each in request.output_directory.iterdir()] == ["x"]
    return result


def fewest(daemon: InventedDaemon, call: Callable[[], object], expected: int) -> int:
    """The round trips of a call, of as many calls as show those that are expected."""
    found = []
    for _ in range(_ATTEMPTS):
        before = daemon.time.settle()
        call()
        found.append(daemon.time.now - before)
        if found[-1] <= expected:
            break
    return min(found)


# Made, looked at, launch made, its two streams, started; its files and its end, the keeper's end, removed.
LAUNCH = 9


def test_a_launch_costs_nine_round_trips_beside_its_windows(daemon, executor, request_with_files) -> None:
    assert fewest(daemon, lambda: launched(executor, request_with_files), LAUNCH) == LAUNCH


def test_the_state_of_the_machine_costs_one_round_trip(daemon, executor) -> None:
    assert fewest(daemon, lambda: executor.state(REQUEST.platform), 1) == 1


def test_a_program_that_examines_the_outputs_costs_three_more(daemon, executor, request_with_files) -> None:
    request = replace(request_with_files, examine=lambda outputs: [("replay", outputs)])
    assert fewest(daemon, lambda: launched(executor, request), LAUNCH + 3) == LAUNCH + 3
    assert len(launched(executor, request).examined) == 1


def test_a_launch_makes_these_requests_and_no_others(daemon, executor, request_with_files) -> None:
    daemon.time.settle()
    daemon.asked.clear()
    launched(executor, request_with_files)
    daemon.time.settle()
    assert daemon.requests == Counter(
        {
            "POST containers create": 2,
            # The keeper's volumes, the variables of both, how the launch ended, and that the keeper lived until then.
            "GET containers json": 4,
            "POST containers start": 2,
            "PUT containers archive": 1,
            "POST containers attach": 2,
            "POST containers wait": 1,
            "GET containers archive": 1,
            "DELETE containers": 2,
        }
    )
