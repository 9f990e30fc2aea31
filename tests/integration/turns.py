"""Two workers on one daemon: what each runs on, who runs what, and when one of them has the daemon to itself."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Names, for the workers of one call, the directory of their locks.
_DIRECTORY = "FORGE_BENCH_TEST_TURNS"
# Files that share the run of the whole smoke profile, or have tests that are alone: one worker runs all of them. Until
# it comes to the latter, the other has come to its shorter tests, and does not keep it waiting.
_SMOKE = ("test_matrix", "test_plan", "test_secrets", "test_left_behind")
# The longest first, so that no worker is left with one of them at the end; then all others.
_FIRST = (*_SMOKE, "test_edge", "test_compile", "test_image", "test_failing_cells", "test_interruption")
# Their tests share nothing that takes long to make.
_EACH_BY_ITSELF = frozenset({"test_image", "test_competitors"})


def make_directory() -> Path | None:
    """The directory of the locks, where this process is the first of a call; its workers inherit the name."""
    if _DIRECTORY in os.environ:
        return None
    directory = tempfile.mkdtemp(prefix="forge-bench-turns-")
    os.environ[_DIRECTORY] = directory
    return Path(directory)


def take_share_of_cpus() -> None:
    """Give each worker CPUs of its own: launches run on the CPUs of their runner."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or not hasattr(os, "sched_setaffinity"):
        return
    count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    share = sorted(os.sched_getaffinity(0))[int(worker.removeprefix("gw")) :: count]
    if share:
        os.sched_setaffinity(0, share)


def group_of(test: str) -> str:
    """What one worker runs as a whole: the group of a test, given its node identifier."""
    stem = Path(test.partition("::")[0]).stem
    if stem in _SMOKE:
        return "smoke"
    return test if stem in _EACH_BY_ITSELF else stem


def arrange(items: list[pytest.Item]) -> None:
    """Order the tests by their files: the longest first."""
    rank = {stem: number for number, stem in enumerate(_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


@contextlib.contextmanager
def turn(item: pytest.Item) -> Iterator[None]:
    """Hold the daemon for the length of a test: beside the other worker, or for oneself where the test is ``alone``."""
    directory = Path(os.environ[_DIRECTORY])
    alone = item.get_closest_marker("alone") is not None
    with (directory / "door").open("w") as door, (directory / "room").open("w") as room:
        # Who waits for the room stands in the door: nobody slips in before.
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold something that one worker makes while the other waits and then finds it."""
    with (Path(os.environ[_DIRECTORY]) / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
