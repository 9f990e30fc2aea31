"""``forge-bench clean``: removes only the things that this project made; records only on request."""

import argparse
import sys
from collections.abc import Sequence

from runner.cli.commands.base import Command, Context
from runner.host.clean.item import Area
from runner.host.clean.results import find_results
from runner.planning.footprint import size
from runner.system.errors import DockerUnavailable, ForgeBenchError, UsageError
from runner.system.terminal import width_of, wrap

_DAEMON = ("containers", "images", "cache")
_AREAS = (*_DAEMON, "results")


def _run(context: Context) -> int:
    areas = _find(context)
    print(_listing(areas))
    items = [item for area in areas for item in area.items]
    if context.own.dry_run or not items:
        return 0
    if not context.own.yes and not _agreed(context):
        print("nothing was removed")
        return 0
    kept = []
    for item in items:
        context.progress.say(f"removing {item.name}")
        problem = item.remove()
        if problem is not None:
            kept.append(f"{item.name}: {problem}")
    for line in kept:
        print(wrap(f"not removed: {line}", width_of(sys.stdout)))
    print(f"removed {len(items) - len(kept)} of {len(items)}")
    return 0


def _find(context: Context) -> list[Area]:
    named: Sequence[str] = context.own.area or _AREAS
    found: list[Area] = []
    wanted = [name for name in named if name in _DAEMON]
    if wanted and context.executor_name == "docker":
        try:
            # Imported here: only a host has the library.
            from runner.host.clean.daemon import find_on_daemon  # noqa: PLC0415

            context.progress.say(
                "asking the Docker daemon what it holds; for its cache this may take a minute"
            )
            found += find_on_daemon(context.root, wanted)
        except (DockerUnavailable, ModuleNotFoundError) as error:
            if context.own.area:
                raise
            why = error.what if isinstance(error, ForgeBenchError) else str(error)
            found.append(Area(name="containers, images and cache", stays=(f"not looked at: {why}",)))
    if "results" in named:
        found.append(find_results(context.stored, records=context.own.records))
    return found


def _listing(areas: Sequence[Area]) -> str:
    width = width_of(sys.stdout)
    lines = []
    for area in areas:
        lines.append(area.name if area.items else f"{area.name}: nothing to remove")
        for item in area.items:
            count = f"{item.count} x " if item.count > 1 else ""
            taken = "" if item.size_bytes is None else f", {size(item.size_bytes)}"
            lines.append(wrap(f"  {count}{item.name}{taken}", width, hang=4))
    stays = [text for area in areas for text in area.stays]
    if stays:
        lines.append("what stays")
        lines += [wrap(f"  {text}", width) for text in stays]
    total = sum(item.size_bytes or 0 for area in areas for item in area.items)
    lines.append(f"in all at most {size(total)}: layers that images share are counted with each")
    return "\n".join(lines)


def _agreed(context: Context) -> bool:
    """Ask the user on the terminal.

    Raises:
        UsageError: there is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            what="clean asks before it removes anything, and there is no terminal to ask on",
            why="neither --yes nor --dry-run was given",
            fix="add --yes to remove the listed things, or --dry-run to only list them",
        )
    context.progress.say("remove all of this? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _area(word: str) -> str:
    if word not in _AREAS:
        raise argparse.ArgumentTypeError(f'no area "{word}"; there are {", ".join(_AREAS)}')
    return word


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "area", nargs="*", type=_area, metavar="AREA", help=f"only these: {', '.join(_AREAS)}"
    )
    parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--records", action="store_true", help="remove the records and their tables too")


COMMAND = Command(
    name="clean",
    summary="remove the images, caches and containers of this project; records only with --records",
    takes=("--executor", "--results"),
    add_options=_add_options,
    examples=("clean",),
    run=_run,
)
