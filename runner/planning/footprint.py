"""How much disk a plan will take, learnt from images of the same target and files of earlier records."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.daemon.docker_command import inspect_images
from runner.images.identity import identify
from runner.images.inspected import identity_of
from runner.images.spec import ImageSpec
from runner.matrix.images import CORE
from runner.matrix.toolchain import ARCHITECTURES
from runner.planning.cells import Cell
from runner.planning.input_key import inputs_key
from runner.planning.planned import Decision, Launch, Plan, PlannedCell
from runner.records import references
from runner.records.record import Record
from runner.records.store import Store
from runner.system.files import tree

_Work = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class ImageNeed:
    """An image that the plan needs.

    ``size_bytes`` is the size of the image itself. A build adds less to the disk where other images share its layers.
    None where there is no image of this target to learn from.
    """

    tag: str
    there: bool
    size_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Files:
    """The expected bytes of records, logs, reference outputs and input files.

    Cells of unknown size are counted apart.
    """

    known_bytes: int
    unknown: int


def images_needed(plan: Plan, root: Path) -> tuple[ImageNeed, ...]:
    """The images of ``plan``, and whether the daemon has them, built from the files below ``root``."""
    specs = [
        ImageSpec(target=target, architecture=cell.platform.architecture, toolchain=cell.toolchain)
        for target, cell in plan.images()
    ]
    specs = list(dict.fromkeys(specs))
    if not specs:
        return ()
    # Images of other architectures count too: they are about as large.
    others = [
        ImageSpec(target=spec.target, architecture=architecture, toolchain=spec.toolchain)
        for spec in specs
        for architecture in ARCHITECTURES
    ]
    found = inspect_images([spec.tag for spec in dict.fromkeys([*specs, *others])])
    return tuple(
        ImageNeed(
            tag=spec.tag,
            there=identity_of(found.get(spec.tag)) == identify(spec, root).identity,
            size_bytes=_size(spec, found),
        )
        for spec in specs
    )


def files_of(plan: Plan, store: Store, *, executor: str) -> Files:
    """The files that the launches of ``plan`` will leave in ``store``, learnt from earlier cells."""
    earlier = {_work_of(record): record for record in plan.records}
    sizes = [_of_cell(planned, store, earlier) for launch in plan.launches for planned in launch.cells]
    logs = [_log(launch, store, earlier) for launch in plan.launches]
    inputs = _inputs(plan, store, executor)
    known = [each for each in (*sizes, *inputs) if each is not None]
    return Files(
        known_bytes=sum(known) + sum(logs),
        unknown=len(sizes) + len(inputs) - len(known),
    )


def size(count: int) -> str:
    """Bytes for people, in powers of ten, as Docker and disks are measured."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            value = count / factor
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"  # noqa: PLR2004 (two digits)
    return f"{count} bytes"


def _of_cell(planned: PlannedCell, store: Store, earlier: Mapping[_Work, Record]) -> int | None:
    """The bytes of one cell's record and, where gates compare with the cell, of its kept outputs."""
    record = earlier.get(_work(planned.cell))
    if record is None:
        return None
    total = _bytes(store.records_directory / record.benchmark / f"{record.identifier}.json")
    if planned.is_compared_with and store.files(references.AREA, planned.key) is None:
        outputs = store.files(references.AREA, record.key)
        if outputs is None:
            return None
        total += sum(map(_bytes, tree(outputs)))
    return total


def _log(launch: Launch, store: Store, earlier: Mapping[_Work, Record]) -> int:
    record = earlier.get(_work(launch.first))
    return 0 if record is None else _bytes(store.log_path(record.launch.id))


def _inputs(plan: Plan, store: Store, executor: str) -> Sequence[int | None]:
    """The size of each benchmark's input files that the plan will make, as large as those made before."""
    kept = {
        frozenset(case.name for case in directory.iterdir()): directory
        for directory in sorted((store.root / "inputs").glob("[!.]*"))
        if directory.is_dir()
    }
    wanted: dict[str, Cell] = {}
    for each in plan.cells:
        if each.decision is Decision.RUN:
            cell = each.cell
            core = plan.execution_hashes.get((CORE.name, cell.toolchain.name, cell.platform.name))
            if core is not None:
                wanted.setdefault(inputs_key(cell, execution_hash=core, executor=executor), cell)
    missing = [cell for key, cell in wanted.items() if store.files("inputs", key) is None]
    found = [kept.get(frozenset(cell.benchmark.cases)) for cell in missing]
    return [None if each is None else sum(map(_bytes, tree(each))) for each in found]


def _work(cell: Cell) -> _Work:
    return (
        cell.benchmark.name,
        cell.case.name,
        cell.implementation.name,
        json.dumps(dict(cell.parameters), sort_keys=True),
    )


def _work_of(record: Record) -> _Work:
    return (
        record.benchmark,
        record.case,
        record.implementation,
        json.dumps(record.parameters, sort_keys=True),
    )


def _size(spec: ImageSpec, found: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The size of this exact image, or of the other architecture's."""
    same_target = [tag for tag in found if tag.rpartition("-")[0] == spec.tag.rpartition("-")[0]]
    for tag in (spec.tag, *same_target):
        if tag in found:
            return int(found[tag]["Size"])
    return None


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
