"""The faults: what is prepared for each, how it strikes, and with which exit codes a run may answer."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from runner.system.errors import CellsFailed, DockerUnavailable, Interrupted, NoSpace
from runner.system.orphans import OWNER_VARIABLE
from tests.interruption.audit import DaemonAudit
from tests.interruption.calls import Call
from tests.interruption.relay import Relay

LAUNCH_KILLED, KEEPER_KILLED, NOTHING_RAN = "launch killed", "keeper killed", "nothing ran"
_DISK_BYTES = 64 * 2**20
_KILL_WITHIN_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a fault works on: the call that it hits and what stands around it."""

    call: Call
    chance: random.Random
    daemon: DaemonAudit | None
    relay: Relay | None
    disk: "SmallDisk | None"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind. ``strike`` returns what it did, in a word or two."""

    name: str
    strike: Callable[[Stage], str]
    codes: frozenset[int]
    executors: tuple[str, ...] = ("docker", "local")
    # Whether a run that was hit can still tidy up by itself: then nothing may be left even before the next call.
    tidies_up: bool = True


def _interrupt(stage: Stage) -> str:
    # A terminal sends it to the whole group: to the docker command line too.
    os.killpg(stage.call.process.pid, signal.SIGINT)
    return "SIGINT"


def _interrupt_twice(stage: Stage) -> str:
    os.killpg(stage.call.process.pid, signal.SIGINT)
    time.sleep(stage.chance.uniform(0, 0.3))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(stage.call.process.pid, signal.SIGINT)
    return "SIGINT, SIGINT"


def _terminate(stage: Stage) -> str:
    stage.call.process.terminate()
    return "SIGTERM"


def _kill(stage: Stage) -> str:
    stage.call.process.kill()
    return "SIGKILL"


def _kill_launch(stage: Stage) -> str:
    """Kill what the runner started: its container, or its process where there is none."""
    end = time.monotonic() + _KILL_WITHIN_SECONDS
    while time.monotonic() < end and stage.call.running:
        with contextlib.suppress(Exception):
            if stage.daemon is not None:
                running = stage.daemon.running_containers([stage.call.owner])
                if running:
                    name = stage.chance.choice(sorted(running))
                    stage.daemon.kill(running[name])
                    return KEEPER_KILLED if name.startswith("forge-bench-keeper") else LAUNCH_KILLED
            else:
                for child in psutil.Process(stage.call.process.pid).children(recursive=True):
                    if child.environ().get(OWNER_VARIABLE) == str(stage.call.owner):
                        child.kill()
                        return LAUNCH_KILLED
    return NOTHING_RAN


def _cut(stage: Stage) -> str:
    if stage.relay is None:
        raise ValueError("nothing to cut")
    for_good = stage.chance.random() < 0.7
    broken = stage.relay.cut(for_good=for_good)
    return f"{broken} connections cut{'' if for_good else ' once'}"


def _fill_disk(stage: Stage) -> str:
    if stage.disk is None:
        raise ValueError("no disk to fill")
    left = stage.chance.choice((0, 0, 4096, 16384, 65536))
    stage.disk.fill(leave=left)
    return f"{left} bytes left"


def _no_fault(stage: Stage) -> str:
    del stage
    return "a second runner"


# Python ends itself by SIGINT, whatever code it was given, where the interrupt hit it inside an exec of a string (as
# dataclasses and named tuples are made); to a shell that is 130 too.
_STOPPED = frozenset({0, Interrupted.exit_code, -signal.SIGINT})
FAULTS = {
    fault.name: fault
    for fault in (
        Fault(name="sigkill", strike=_kill, codes=frozenset({0, -signal.SIGKILL}), tidies_up=False),
        Fault(name="ctrl-c", strike=_interrupt, codes=_STOPPED),
        # A versions' or a generator's container is of no cell: without it the call ends, with 7 or 8.
        Fault(name="launch-kill", strike=_kill_launch, codes=frozenset({0, CellsFailed.exit_code, 7, 8})),
        Fault(name="sigterm", strike=_terminate, codes=_STOPPED),
        Fault(name="two-runners", strike=_no_fault, codes=frozenset({0})),
        Fault(name="full-disk", strike=_fill_disk, codes=frozenset({0, NoSpace.exit_code})),
        Fault(
            name="cut",
            strike=_cut,
            codes=frozenset({0, CellsFailed.exit_code, DockerUnavailable.exit_code}),
            executors=("docker",),
            tidies_up=False,
        ),
        Fault(name="ctrl-c-twice", strike=_interrupt_twice, codes=_STOPPED),
    )
}


class SmallDisk:
    """A file system in memory of 64 MiB, which can be filled and emptied. Mounting needs root."""

    def __init__(self, at: Path) -> None:
        self.path = at
        at.mkdir(parents=True)
        _mount("mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES},mode=0700", "forge-bench-test", str(at))
        self._ballast = at / ".ballast"

    def fill(self, *, leave: int) -> None:
        """Leave so many bytes free."""
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(65536)):
                pass
        size = self._ballast.stat().st_size
        os.truncate(self._ballast, max(0, size - leave))

    def empty(self) -> None:
        """Give the space back."""
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        """Unmount."""
        _mount("umount", "--lazy", str(self.path))


def can_mount() -> bool:
    """Whether small disks can be made here."""
    return os.geteuid() == 0


@contextlib.contextmanager
def small_disk(at: Path) -> Iterator[SmallDisk]:
    """A small disk for the length of a block."""
    disk = SmallDisk(at)
    try:
        yield disk
    finally:
        disk.remove()


def _mount(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
