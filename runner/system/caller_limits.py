"""What the caller of the runner limited with ulimit, or a batch system for him: of the host, not of an implementation.

A limit that a process meets shows in many ways: MemoryError, a library that cannot be mapped, EFBIG, no thread, a signal.
"""

import errno
import mmap
import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass

from runner.system.errors import HostLimited

_NONE = resource.RLIM_INFINITY
_MIB = 2**20
# NumPy's linear algebra takes this for each processor, and at most so many; the rest is the runner and what it reads.
_ADDRESSES, _ADDRESSES_A_CPU, _MOST_CPUS = 512 * _MIB, 64 * _MIB, 64
_NUMBERS = frozenset({errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE})
_NO_ROOM = ("failed to map segment", "cannot allocate memory", "cannot map", "cannot create shared object")
# How Python says that it found no directory for temporary files.
NO_TEMPORARY = "No usable temporary directory"


@dataclass(frozen=True, kw_only=True)
class _Limit:
    number: int
    option: str
    name: str
    unit: str
    scale: int


_LIMITS = (
    _Limit(number=resource.RLIMIT_AS, option="-v", name="address space", unit=" MiB", scale=_MIB),
    _Limit(number=resource.RLIMIT_DATA, option="-d", name="data", unit=" MiB", scale=_MIB),
    _Limit(number=resource.RLIMIT_FSIZE, option="-f", name="the size of a file", unit=" KiB", scale=1024),
    _Limit(number=resource.RLIMIT_CPU, option="-t", name="processor time", unit=" s", scale=1),
    _Limit(number=resource.RLIMIT_STACK, option="-s", name="stack", unit=" MiB", scale=_MIB),
    _Limit(number=resource.RLIMIT_NOFILE, option="-n", name="open files", unit="", scale=1),
    _Limit(number=resource.RLIMIT_NPROC, option="-u", name="processes", unit="", scale=1),
)


def limits_below(needed: Mapping[int, int]) -> tuple[str, ...]:
    """The limits of this process that are below what is needed, in words.

    Args:
        needed: by the number of the limit (``resource.RLIMIT_FSIZE``), in its own unit; ``RLIM_INFINITY`` is "any limit".
    """
    found = []
    for limit in _LIMITS:
        soft, _ = resource.getrlimit(limit.number)
        need = needed.get(limit.number)
        if need is not None and soft != _NONE and (need == _NONE or soft < need):
            found.append(
                f"{limit.name} is limited to {soft / limit.scale:.4g}{limit.unit} (ulimit {limit.option})"
            )
    return tuple(found)


def host_limited(what: str, why: str) -> HostLimited:
    """The error for a limit of the caller's.

    Args:
        what: what could not be done.
        why: which limit is in the way.
    """
    return HostLimited(
        what=what,
        why=why,
        fix="raise that limit where the runner is called (ulimit -a shows all), or ask the batch system for more; then "
        "run again: finished cells are stored",
    )


def require_addresses() -> None:
    """See that NumPy finds room: without it, its libraries end the process with a line that names no limit.

    Raises:
        HostLimited: the caller's limits leave too little.
    """
    limited = limits_below({resource.RLIMIT_AS: _NONE, resource.RLIMIT_DATA: _NONE})
    if not limited:
        return
    needed = _ADDRESSES + _ADDRESSES_A_CPU * min(os.cpu_count() or 1, _MOST_CPUS)
    try:
        # Addresses alone: no page is touched.
        mmap.mmap(-1, needed).close()
    except (OSError, MemoryError) as error:
        why = f"{'; '.join(limited)}; {needed // _MIB} MiB must be free"
        raise host_limited("there is too little memory to compute with", why) from error


def exhausted(error: BaseException) -> HostLimited | None:
    """The typed error for what a process lacks that met a limit; None where it is something else."""
    words = str(error)
    if isinstance(error, MemoryError) or (isinstance(error, ImportError) and _is_of_memory(error)):
        return host_limited("the memory does not suffice", _of_memory())
    if isinstance(error, RuntimeError) and "can't start new thread" in words:
        return host_limited(
            "no thread can be started", _of({resource.RLIMIT_NPROC: _NONE, resource.RLIMIT_AS: _NONE})
        )
    if isinstance(error, OSError):
        return _exhausted(error)
    return None


def too_large_file(error: OSError) -> bool:
    """Whether a file could not grow because of the caller's limit."""
    return error.errno == errno.EFBIG and bool(limits_below({resource.RLIMIT_FSIZE: _NONE}))


def place_of(error: OSError) -> str | None:
    """The file that the system spoke of: of a copy or a link the one that was written."""
    name = error.filename2 or error.filename
    return name if isinstance(name, str) else None


def _exhausted(error: OSError) -> HostLimited | None:
    where = place_of(error)
    named = "" if where is None else f" {where}"
    of_files = limits_below({resource.RLIMIT_FSIZE: _MIB})
    if too_large_file(error):
        return host_limited(
            f"writing{named or ' a file'} failed: too large", _of({resource.RLIMIT_FSIZE: _NONE})
        )
    if NO_TEMPORARY in str(error) and of_files:
        return host_limited("no temporary file can be written", "; ".join(of_files))
    if error.errno == errno.ENOMEM:
        return host_limited(f"the memory does not suffice{named and f' for{named}'}", _of_memory())
    if error.errno in _NUMBERS:
        limits = (
            {resource.RLIMIT_NOFILE: _NONE} if error.errno == errno.EMFILE else {resource.RLIMIT_NPROC: _NONE}
        )
        said = error.strerror or str(error)
        return host_limited(
            f"{named.strip() or 'a process'} cannot be opened or started", f"{said}; {_of(limits)}"
        )
    return None


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether a library could not be loaded for want of memory: the reason may be that of the reason."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error).lower() for words in _NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def _of_memory() -> str:
    return _of({resource.RLIMIT_AS: _NONE, resource.RLIMIT_DATA: _NONE})


def _of(limits: Mapping[int, int]) -> str:
    return (
        "; ".join(limits_below(limits)) or "no limit of this process is in the way: the machine has no more"
    )
