"""A lock for each CPU, so that launches of two runners are never timed on the same one.

A lock is a file that its holder has locked with flock(2), so that it ends with its holder, after a crash too. The file
says who holds it and until when at most. All users of a machine share the directory of these files. A container has its
own temporary directory, so runners of two containers do not see each other.
"""

import contextlib
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.system.errors import CpusTaken
from runner.system.printable import one_line

# Names another directory. Runners with different directories do not wait for each other.
DIRECTORY_VARIABLE = "FORGE_BENCH_CPU_LOCKS"
DIRECTORY_NAME = "forge-bench-cpus"
_LOOK_SECONDS = 0.1
# A holder ends this long after its deadline at the latest. One that says no deadline gets as long as any launch.
_GRACE_SECONDS = 60.0
_UNSAID_SECONDS = 600.0
_LONGEST_HOLDER = 4096


@dataclass(frozen=True, kw_only=True)
class Use:
    """What CPUs are wanted for.

    Attributes:
        what: in words, for other runners to show.
        machine: "here", or another machine's identifier.
        seconds: how long it lasts at most.
    """

    what: str
    machine: str
    seconds: float


@contextlib.contextmanager
def hold(cpus: Iterable[int], use: Use, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until nobody else holds any of these CPUs, and hold all of them.

    CPUs are taken in order, so that two runners never wait for each other.

    Raises:
        CpusTaken: a holder did not end in time; the message names it.
    """
    with contextlib.ExitStack() as held:
        try:
            directory = _directory()
            files = {cpu: held.enter_context(_opened(directory, cpu, use)) for cpu in sorted(set(cpus))}
        except OSError as error:
            say(f"warning: CPUs cannot be locked, so another runner may use them too: {error}")
            files = {}
        for cpu, file in files.items():
            _take(cpu, file, use, say)
            held.callback(_write, file, b"")
        yield


def _directory() -> Path:
    """Where the locks lie, made for all users of the machine.

    Raises:
        OSError: it cannot be used, or is another user's trap.
    """
    named = os.environ.get(DIRECTORY_VARIABLE)
    path = Path(named) if named else Path(tempfile.gettempdir()) / DIRECTORY_NAME
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        # Not by mkdir, whose mode is less the umask. Nobody can remove the files of others.
        path.chmod(0o1777)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise NotADirectoryError(f"{path} is no directory")
    return path


@contextlib.contextmanager
def _opened(directory: Path, cpu: int, use: Use) -> Iterator[int]:
    path = directory / f"{use.machine}-{cpu}"
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        # Linux refuses to create again what another user made in a directory of all users.
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _take(cpu: int, file: int, use: Use, say: Callable[[str], None]) -> None:
    """Lock the file of one CPU, and say in it who holds it."""
    began, told = time.time(), ""
    while not _locked(file):
        holder, until = _holder(file)
        if holder != told:
            say(f"waiting for CPU {cpu}, which {holder} uses")
            told = holder
        if time.time() > (until or began + _UNSAID_SECONDS) + _GRACE_SECONDS:
            raise CpusTaken(
                what=f"CPU {cpu} stays taken",
                why=f"{holder} uses it, longer than it said",
                fix="end that process, or run on other CPUs (taskset -c 0-3 .venv/bin/python -m runner)",
            )
        time.sleep(_LOOK_SECONDS)
    said = {"process": os.getpid(), "what": use.what, "until": time.time() + use.seconds}
    _write(file, json.dumps(said).encode())


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: int) -> tuple[str, float | None]:
    """Who holds a lock, in words, and until when; nothing is believed that has another form."""
    try:
        said = json.loads(os.pread(file, _LONGEST_HOLDER, 0))
        return f"process {int(said['process'])} ({one_line(str(said['what']), 120)})", float(said["until"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return "another runner", None


def _write(file: int, text: bytes) -> None:
    # The lock holds without its text, on a full disk for example.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, text, 0)
