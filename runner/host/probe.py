"""Read the state of this host. No process and no file stays behind."""

import contextlib
import errno
import getpass
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from runner.daemon.docker_command import inspect_images
from runner.daemon.endpoint import current_endpoint
from runner.daemon.information import information, require_client, require_daemon
from runner.daemon.whereabouts import Whereabouts, whereabouts
from runner.host.facts import read_host
from runner.host.foreign import runs
from runner.host.mirror import Mirror, ask, packages_of_pins
from runner.host.state import Daemon, HostState, Machine, Place, Remedy, Results, Wanted
from runner.images.base import base_tag
from runner.images.build import locks_of
from runner.images.lock import require_lock, upstream
from runner.images.spec import ImageSpec
from runner.matrix.toolchain import Toolchain
from runner.records.store import Store
from runner.system import machine
from runner.system.cpus import usable_cpus
from runner.system.errors import DamagedRecord, DockerUnavailable, NoSpace, PackagesDrifted, StoreError
from runner.system.space import refused

# Measured with docker system df and du after building every image of the shipped matrix from nothing: the tools
# stage, its base and the caches of packages; what one architecture's image and its layers take; one more target of it.
_TOOLS_BYTES = 2_700_000_000
_ARCHITECTURE_BYTES = 2_200_000_000
_TARGET_BYTES = 200_000_000
# Records, input files, reference outputs and logs of every profile; a launch's outputs and a bootstrap's archive.
_RESULTS_BYTES = 300_000_000
_TEMPORARY_BYTES = 700_000_000
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def read_host_state(
    wanted: Wanted,
    specs: tuple[ImageSpec, ...],
    *,
    executor: str,
    inside_image: bool,
    root: Path,
    store: Store,
    left_out: Mapping[str, str],
) -> HostState:
    """The state of this host.

    Args:
        wanted: what is to be run.
        specs: the images that it takes.
        executor: ``docker`` or ``local``.
        inside_image: whether this is the runner of an image.
        root: the checkout, which holds the locks.
        store: where records would go.
        left_out: what the local executor cannot run, and why.
    """
    containers = executor == "docker"
    daemon = _daemon() if containers else None
    there = _there(specs) if daemon is not None and daemon.problem is None else None
    missing = None if there is None else tuple(spec.tag for spec in specs if spec.tag not in there)
    faults = store.record_faults()
    return HostState(
        executor=executor,
        inside_image=inside_image,
        wanted=wanted,
        host=read_host(base_tag(wanted.toolchains[0]), wanted.foreign) if containers else None,
        daemon=daemon,
        missing_images=missing,
        trial={each: runs(each) for each in wanted.foreign} if containers else {},
        unprivileged=_unprivileged(),
        mirrors=_mirrors(wanted, missing) if containers else (),
        locked={each.name: _locked(each, specs, root) for each in wanted.toolchains} if containers else {},
        places=_places(specs, there, daemon, store),
        results=results_of(store),
        damaged=tuple(path for path, fault in faults if isinstance(fault, DamagedRecord)),
        unread=tuple(fault for _, fault in faults if not isinstance(fault, DamagedRecord)),
        foreign_files=_foreign_files(store),
        left_out=left_out,
        machine=_machine(),
    )


def _daemon() -> Daemon:
    client: str | None = None
    host, problem = "", None
    try:
        client = require_client()
        host = current_endpoint().host
        require_daemon()
    except DockerUnavailable as error:
        problem = error
    said = {} if problem else information()
    # The top-level folder docker/ of a checkout is a package of that name too, and an empty one.
    sdk = importlib.util.find_spec("docker")
    return Daemon(
        problem=problem,
        host=host,
        place=whereabouts(said, current_endpoint()) if said else Whereabouts.HERE,
        sdk=None if sdk is not None and sdk.origin is not None else "it has no module docker",
        client=client,
        information=said,
    )


def _there(specs: Iterable[ImageSpec]) -> Mapping[str, Any] | None:
    tags = [spec.tag for spec in specs]
    try:
        return inspect_images(tags) if tags else {}
    except DockerUnavailable:
        return None


def _mirrors(wanted: Wanted, missing: tuple[str, ...] | None) -> tuple[Mirror, ...]:
    # The index has ten megabytes, so it is read only where an image has to be built.
    architecture = machine.architecture() if missing is None or missing else None
    suites = {(toolchain.mirror, toolchain.suite): toolchain for toolchain in wanted.toolchains}
    return tuple(
        ask(mirror, suite, architecture=architecture, python=toolchain.python)
        for (mirror, suite), toolchain in suites.items()
    )


def _locked(
    toolchain: Toolchain, specs: Iterable[ImageSpec], root: Path
) -> Mapping[str, frozenset[str]] | PackagesDrifted:
    """The upstream version of each pin in the locks that builds of these images read."""
    wanted = {each for spec in specs if spec.toolchain == toolchain for each in locks_of(spec)}
    try:
        locks = [require_lock(root, toolchain, kind, architecture) for kind, architecture in sorted(wanted)]
    except PackagesDrifted as error:
        return error
    return {
        pin: frozenset(
            upstream(each.version) for lock in locks for each in lock.packages if each.name == name
        )
        for pin, name in packages_of_pins(toolchain.python, toolchain.suite).items()
    }


def _places(
    specs: tuple[ImageSpec, ...], there: Mapping[str, Any] | None, daemon: Daemon | None, store: Store
) -> tuple[Place, ...]:
    needs: list[tuple[Path, str, int]] = []
    if daemon is not None and not daemon.on_another_kernel:
        # The directories of another machine cannot be read from here.
        root = Path(str(daemon.information.get("DockerRootDir") or "/var/lib/docker"))
        if _existing(root) is not None and root.exists():
            needs.append((root, "images and build caches", _image_bytes(specs, there)))
    needs.append((store.root, "records", _RESULTS_BYTES))
    needs.append((Path(tempfile.gettempdir()), "temporary files", _TEMPORARY_BYTES))
    by_device: dict[int, list[tuple[Path, str, int]]] = {}
    for path, what, size in needs:
        existing = _existing(path)
        if existing is not None:
            by_device.setdefault(existing.stat().st_dev, []).append((existing, what, size))
    return tuple(
        Place(
            path=members[0][0],
            holds=tuple(what for _, what, _ in members),
            free_bytes=shutil.disk_usage(members[0][0]).free,
            needed_bytes=sum(size for _, _, size in members),
        )
        for members in by_device.values()
    )


def _image_bytes(specs: tuple[ImageSpec, ...], there: Mapping[str, Any] | None) -> int:
    """The disk space of the missing images, with all that their builds keep."""
    built = there or {}
    total = 0 if built else _TOOLS_BYTES
    done = {spec.architecture for spec in specs if spec.tag in built}
    for spec in specs:
        if spec.tag in built:
            # Usually only its last layers are built again.
            total += _TARGET_BYTES
        elif spec.architecture in done:
            total += _TARGET_BYTES
        else:
            total += _ARCHITECTURE_BYTES
            done.add(spec.architecture)
    return total


def results_of(store: Store) -> Results:
    """Whether records can be written. A missing directory would be made in its nearest existing parent."""
    nearest = _existing(store.root) or Path("/")
    try:
        if not nearest.is_dir():
            raise NotADirectoryError(20, "it is no directory", str(nearest))
        with tempfile.TemporaryFile(dir=nearest):
            pass
        if nearest == store.root.absolute():
            store.require_writable()
    except (StoreError, NoSpace) as said:
        closed = isinstance(said.__cause__, PermissionError)
        return Results(path=store.root, problem=said, remedy=_remedy(store, nearest) if closed else None)
    except OSError as error:
        problem = refused(error) or StoreError(
            what=f"the results directory {store.root} cannot be written",
            why=error.strerror or str(error),
            fix="give another directory with --results",
        )
        remedy = _remedy(store, nearest) if error.errno in (errno.EACCES, errno.EPERM) else None
        return Results(path=store.root, problem=problem, remedy=remedy)
    return Results(path=store.root)


def _foreign_files(store: Store) -> tuple[Path, ...]:
    with contextlib.suppress(StoreError):
        return store.foreign_files()
    return ()


def _remedy(store: Store, nearest: Path) -> Remedy | None:
    if nearest != store.root:
        # A directory that may not be entered may hold the file.
        return Remedy.MAKE if os.access(nearest, os.X_OK) else None
    return Remedy.TAKE if store.holds_only_results() else None


def _existing(path: Path) -> Path | None:
    for each in (path.absolute(), *path.absolute().parents):
        try:
            if each.exists():
                return each
        except OSError:
            continue
    return None


def _unprivileged() -> str | None:
    """Why mmdebstrap could not map user ids without root; None where it could."""
    if os.geteuid() == 0:
        return None
    if shutil.which("newuidmap") is None:
        return "without root it needs newuidmap, which is not here"
    try:
        user = getpass.getuser()
        entries = Path("/etc/subuid").read_text(encoding="utf-8").splitlines()
    except (OSError, KeyError):
        return "without root it needs a range of user ids in /etc/subuid"
    if not any(line.split(":")[0] in (user, str(os.getuid())) for line in entries):
        return f"without root it needs a range of user ids in /etc/subuid, and there is none for {user}"
    return None


def _machine() -> Machine:
    memory = psutil.virtual_memory()
    limit = min([memory.total, *filter(None, map(_cgroup_limit, _CGROUP_LIMITS))])
    return Machine(
        cpus=len(usable_cpus(os.cpu_count() or 1)),
        memory_bytes=limit,
        memory_available_bytes=min(memory.available, limit),
        swap_bytes=psutil.swap_memory().total,
        load_1m=psutil.getloadavg()[0],
        governor=machine.describe()["governor"],
    )


def _cgroup_limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None
