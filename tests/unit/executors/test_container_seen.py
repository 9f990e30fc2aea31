"""A look at a container of another machine: what its daemon and its probe tell, and what they do not."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from docker.errors import APIError
from docker.models.containers import Container

from runner.executors.channel import UNSEEN, Seen
from runner.executors.container_seen import Far
from runner.executors.container_stdin import ContainerStdin
from runner.executors.probe import Probe

IDENTIFIER = "4f1d" * 16
LISTED = {
    "Titles": ["UID", "PID", "PPID", "C", "STIME", "TTY", "TIME", "CMD"],
    "Processes": [
        ["65532", "901", "880", "0", "10:00", "?", "00:00:00", "/sbin/docker-init -- python3"],
        ["65532", "917", "901", "9", "10:00", "?", "00:00:01", "python3 -m baselines"],
        ["65532", "918", "917", "9", "10:00", "?", "00:00:01", "python3 -m baselines"],
    ],
}
FILES = {
    "/proc/917/status": "Name:\tpython3\nVmHWM:\t   61440 kB\n",
    "/proc/918/status": "Name:\tpython3\nVmHWM:\t    1024 kB\n",
    "/proc/917/cgroup": f"0::/../docker-{IDENTIFIER}.scope",
    "/proc/918/cgroup": f"0::/../docker-{IDENTIFIER}.scope",
}


class Remote:
    """A container on another machine, and the questions that were asked about it."""

    id = IDENTIFIER

    def __init__(self, stats: Any = None, listed: Any = LISTED) -> None:
        self._stats = stats
        self._listed = listed
        self.asked: list[str] = []
        self._response = self
        self.raw = self._connection = self.sock = self

    def stats(self, *, stream: bool, one_shot: bool) -> Any:
        assert (stream, one_shot) == (False, True)
        return self._answer("stats", self._stats)

    def top(self) -> Any:
        return self._answer("top", self._listed)

    def attach_socket(self, params: Mapping[str, int]) -> "Remote":
        del params
        return self

    def sendall(self, data: bytes) -> None:
        self.asked.append(data.decode().strip())

    def _answer(self, name: str, answer: Any) -> Any:
        self.asked.append(name)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Reading:
    """A probe that reads these files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.read = lambda _paths: files.get


def far(container: Remote, files: Mapping[str, str] | None = None) -> Far:
    probe = None if files is None else cast(Probe, Reading(files))
    return Far(cast(Container, container), probe)


def used(nanoseconds: int) -> dict[str, Any]:
    return {"cpu_stats": {"cpu_usage": {"total_usage": nanoseconds}}}


def test_the_daemon_tells_the_processor_time() -> None:
    assert far(Remote(used(1_500_000_000))).look() == Seen(cpu_seconds=1.5, is_all=True)


@pytest.mark.parametrize("stats", [used(0), {}, {"cpu_stats": None}, APIError("gone"), ConnectionError()])
def test_what_a_daemon_does_not_tell_is_unknown_and_ends_nothing(stats: Any) -> None:
    assert far(Remote(stats)).look() == UNSEEN


def test_the_probe_reads_the_peaks_of_the_launch_and_not_of_its_init() -> None:
    assert far(Remote(), FILES).peak_bytes() == (61440 + 1024) * 1024


def test_a_process_that_only_has_the_number_is_not_the_launchs() -> None:
    others = {**FILES, "/proc/918/cgroup": "0::/../../user.slice"}
    assert far(Remote(), others).peak_bytes() == 61440 * 1024
    assert (
        far(Remote(), {name: text for name, text in FILES.items() if "status" in name}).peak_bytes() is None
    )


@pytest.mark.parametrize("listed", [{"Titles": ["USER"], "Processes": [["x"]]}, {}, APIError("no ps there")])
def test_a_daemon_that_lists_no_processes_leaves_the_peak_unknown(listed: Any) -> None:
    assert far(Remote(listed=listed), FILES).peak_bytes() is None


def test_without_a_probe_nothing_is_asked_for_the_peak() -> None:
    container = Remote()
    assert far(container).peak_bytes() is None
    assert container.asked == []


def test_a_launch_that_was_told_nothing_since_is_not_asked_about_again() -> None:
    container = Remote(used(1_500_000_000))
    stdin = ContainerStdin(cast(Container, container), far(container))
    stdin.started()
    for _ in range(2):
        stdin.look()
    stdin.send("go")
    for _ in range(3):
        assert stdin.look() == Seen(cpu_seconds=1.5, is_all=True)
    assert container.asked == ["stats", "go", "stats"]
