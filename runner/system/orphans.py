"""Processes that a runner which is gone left behind: found by its token in their environment, and ended."""

import contextlib
import os

import psutil

from runner.system.owner import Fate, Owner

OWNER_VARIABLE = "FORGE_BENCH_RUNNER"


def owner_environment() -> dict[str, str]:
    """What a child of this runner gets, and with it every process that it starts, whatever session they move to."""
    return {OWNER_VARIABLE: str(Owner.current())}


def end_orphans() -> tuple[int, ...]:
    """Kill this user's processes whose runner is gone; returns their numbers."""
    ended = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.uids().real != os.getuid():
                continue
            owner = Owner.named_in(process.environ().get(OWNER_VARIABLE, ""))
            if owner is not None and owner.fate is Fate.DEAD:
                process.kill()
                ended.append(process.pid)
    return tuple(ended)
