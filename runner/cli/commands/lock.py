"""``forge-bench lock``: writes the packages of the images to files in which git shows every change."""

import argparse

from runner.cli.commands.base import Command, Context
from runner.images.lock import (
    Change,
    Lock,
    changes,
    drifted,
    lock_file,
    other_pins,
    read_lock,
    write_locks,
)
from runner.images.resolve import resolve
from runner.system.errors import PackagesDrifted


def _run(context: Context) -> int:
    wanted = context.options.toolchains or tuple(context.matrix.toolchains)
    context.require_host(only_builds=True)
    for toolchain in (context.matrix.toolchains[name] for name in wanted):
        served = resolve(
            toolchain,
            root=context.root,
            log_directory=context.store.root / "logs",
            say=context.progress.say,
        )
        found = {
            f"{kind}-{architecture}": _changes(context, toolchain.name, kind, architecture, lock)
            for (kind, architecture), lock in served.items()
        }
        if context.own.check:
            if any(found.values()):
                raise drifted(toolchain.name, found, why=f"{toolchain.mirror} serves other packages now")
            print(f"{toolchain.name}: {toolchain.mirror} serves what is locked")
            continue
        written = write_locks(context.root, toolchain.name, served)
        for (kind, architecture), lock in served.items():
            path = lock_file(context.root, toolchain.name, kind, architecture)
            listed = found[f"{kind}-{architecture}"]
            state = f"{len(listed)} changed" if listed else "written" if path in written else "unchanged"
            size = sum(package.size for package in lock.packages) / 1e6
            print(f"{path.relative_to(context.root)}: {len(lock.packages)} packages, {size:.0f} MB, {state}")
            for change in listed:
                print(f"    {change}")
        for pin, version in other_pins(toolchain, served.values()).items():
            print(
                f"{context.matrix_path.name} pins {pin} {getattr(toolchain, pin)}: "
                f"set toolchains.{toolchain.name}.{pin} to {version}, or no image is built"
            )
    return 0


def _changes(context: Context, toolchain: str, kind: str, architecture: str, served: Lock) -> list[Change]:
    try:
        committed = read_lock(context.root, toolchain, kind, architecture)
    except PackagesDrifted:
        if context.own.check:
            raise
        committed = None
    if committed is None and not context.own.check:
        return []
    return changes(committed.packages if committed else (), served.packages)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 11 if other packages are served now"
    )


COMMAND = Command(
    name="lock",
    summary="write the versions and checksums of every package of the images to docker/lock",
    takes=("--toolchain", "--matrix", "--results", "--set-up"),
    add_options=_add_options,
    examples=("lock --toolchain trixie", "lock --check"),
    run=_run,
)
