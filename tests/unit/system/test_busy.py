"""How busy a machine is right now, from two readings of the kernel's counts of processor time."""

import time
from collections.abc import Iterator

import pytest

from runner.system.busy import busy_processors
from runner.system.kernel_files import read_here


def stat(user: int, idle: int, stolen: int = 0) -> str:
    return f"cpu  {user} 1 2 {idle} 7 3 4 {stolen} 0 0\ncpu0 {user} 1 2 {idle} 7 3 4 {stolen} 0 0"


def sampled(*texts: str | None, seconds: float = 0.1) -> float | None:
    readings: Iterator[str | None] = iter(texts)
    clock = iter((5.0, 5.0 + seconds))
    return busy_processors(lambda _: next(readings), wait=lambda _: None, now=lambda: next(clock))


def test_fifteen_ticks_in_a_tenth_of_a_second_are_one_and_a_half_processors():
    assert sampled(stat(100, 900), stat(115, 905)) == 1.5


def test_idle_and_stolen_time_is_no_work():
    assert sampled(stat(100, 900), stat(100, 920, stolen=20)) == 0.0


def test_a_longer_wait_divides_by_the_time_that_passed():
    assert sampled(stat(100, 900), stat(130, 905), seconds=0.3) == 1.0


@pytest.mark.parametrize("text", [None, "", "cpu  1 2 3", "cpu  a b c d e f g h"])
def test_a_kernel_that_does_not_tell_leaves_it_unknown(text):
    assert sampled(text, text) is None


def test_this_machine_shows_a_thread_that_works():
    if read_here("/proc/stat") is None:
        pytest.skip("this kernel has no /proc/stat")

    def work(seconds: float) -> None:
        end = time.monotonic() + 5 * seconds
        while time.monotonic() < end:
            pass

    found = busy_processors(read_here, wait=work)
    assert found is not None
    assert found > 0.4, "a thread worked for half a second, and the kernel counted less than 0.4 processors"
