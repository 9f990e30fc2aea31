"""Whether a run's files have room, and whether the stored records are intact."""

import shlex
from collections.abc import Iterator

from runner.host.finding import Finding, State
from runner.host.state import HostState, Remedy
from runner.system.errors import DamagedRecord, NoSpace
from runner.system.root import SUDO

_GB = 1e9
# Each command changes only the results directory, and nothing above it.
_OPENING = {
    Remedy.MAKE: 'install -d -o "$(id -u)"',
    Remedy.TAKE: 'chown -R "$(id -u)"',
}


def disk_space(host_state: HostState) -> Iterator[Finding]:
    """Whether images, caches and records have room, with one line for each file system."""
    for place in host_state.places:
        check = f"disk space on {place.path}"
        sizes = f"{place.free_bytes / _GB:.1f} GB free, up to {place.needed_bytes / _GB:.1f} GB needed"
        what = ", ".join(place.holds)
        if place.free_bytes >= place.needed_bytes:
            yield Finding(check=check, state=State.OK, found=f"{sizes} ({what})")
            continue
        yield Finding(
            check=check,
            state=State.MISSING,
            found=sizes,
            why=f"it holds {what}; a build or a record that finds no room fails",
            commands=(
                f"df -h {shlex.quote(str(place.path))}",
                "docker system df",
                "python -m runner clean --dry-run",
            ),
            advice="free some, or give another disk (--results, TMPDIR, the daemon's data-root)",
            error=NoSpace,
        )
    if host_state.daemon is not None and host_state.daemon.information.get("Driver") == "vfs":
        yield Finding(
            check="storage driver",
            state=State.WARNING,
            found="vfs",
            why="it copies every layer whole: images and builds take several times the space and time",
            advice="configure overlay2 or fuse-overlayfs in /etc/docker/daemon.json",
        )


def results_directory(host_state: HostState) -> Iterator[Finding]:
    """Whether records can be written."""
    results, problem = host_state.results, host_state.results.problem
    if problem is None:
        yield Finding(check="results directory", state=State.OK, found=f"{results.path} can be written")
    else:
        yield Finding(
            check="results directory",
            state=State.MISSING,
            found=problem.what,
            why=problem.why,
            commands=(f"{SUDO}{_OPENING[results.remedy]} {shlex.quote(str(results.path))}",)
            if results.remedy is not None
            else (),
            advice=problem.fix,
            error=type(problem),
        )


def records(host_state: HostState) -> Iterator[Finding]:
    """Whether every stored record still matches its seal."""
    for fault in host_state.unread:
        yield Finding(
            check="records",
            state=State.MISSING,
            found=fault.what,
            why=fault.why,
            advice=fault.fix,
            error=type(fault),
        )
    if host_state.foreign_files:
        yield Finding(
            check="files beside the records",
            state=State.WARNING,
            found=f"{len(host_state.foreign_files)} that are no records",
            why=f"hidden, empty or a link, and not read: {', '.join(map(str, host_state.foreign_files[:3]))}",
            advice="remove them, if they are of no use",
        )
    if not host_state.damaged:
        if not host_state.unread:
            yield Finding(check="records", state=State.OK, found="all intact")
        return
    yield Finding(
        check="records",
        state=State.MISSING,
        found=f"{len(host_state.damaged)} damaged",
        why=f"altered or cut off: {', '.join(path.name for path in host_state.damaged[:3])}",
        commands=tuple(f"rm {shlex.quote(str(path))}" for path in host_state.damaged),
        advice="restore them from their source; the cell of a deleted record is run again",
        error=DamagedRecord,
    )
