"""Processes that a dead runner left behind. They are found by the runner's token in their environment, and ended."""

import contextlib
import os

import psutil

from runner.system.owner import Fate, Owner

OWNER_VARIABLE = "FORGE_BENCH_RUNNER"


def owner_environment() -> dict[str, str]:
    """The environment of a child of this runner. Every process that the child starts inherits it, in any session."""
    return {OWNER_VARIABLE: str(Owner.current())}


def end_orphans() -> tuple[int, ...]:
    """Kill this user's processes whose runner is dead; return their process numbers."""
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
