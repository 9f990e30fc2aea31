"""Which limits a daemon enforces, from what it says of itself."""

import pytest

from runner.daemon.enforced_limits import enforced_by

ALL = {"CPUSet": True, "MemoryLimit": True, "SwapLimit": True, "PidsLimit": True}


def test_a_daemon_with_control_groups_enforces_every_limit():
    assert enforced_by(ALL) == ("cpuset", "memory_bytes", "swap", "pids")


def test_a_kernel_that_does_not_count_swap_enforces_the_rest():
    assert enforced_by({**ALL, "SwapLimit": False}) == ("cpuset", "memory_bytes", "pids")


@pytest.mark.parametrize("said", [dict.fromkeys(ALL, False), dict.fromkeys(ALL), {}])
def test_a_rootless_daemon_without_delegation_or_one_that_does_not_say_enforces_none(said):
    assert enforced_by(said) == ()
