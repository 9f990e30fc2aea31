"""The plan: what of the selected cells runs, in which launches and in which order, and why the rest does not."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby

from runner.executors import instructions
from runner.executors.base import Executor
from runner.matrix import Kind, Matrix
from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import Cell, Selection, content, select
from runner.planning.cpu_differences import other_cpus
from runner.planning.key_differences import Content, Earlier
from runner.records.execution import Execution
from runner.records.record import Record, content_hash
from runner.records.store import Store, newest_by_key
from runner.system import machine

ImageKey = tuple[str, str, str]


class Decision(Enum):
    """What becomes of a cell."""

    RUN = "run"
    REUSE = "reuse"
    LEAVE_OUT = "leave out"


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell, its content key, and the decision with its reason.

    ``record`` is the identifier of the record that is reused, that failed, or that ``why`` compares with.
    """

    cell: Cell
    key: str
    decision: Decision
    why: str
    record: str | None = None


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One process in one container: all cases of an operation, or one training.

    ``reference_keys`` are, in the order of ``cells``, the keys of the reference cells that their gates compare with.
    """

    cells: tuple[PlannedCell, ...]
    execution: Execution
    deadline_seconds: float
    reference_keys: tuple[str, ...]

    @property
    def first(self) -> Cell:
        """A cell that stands for the launch: all of them differ in the case alone."""
        return self.cells[0].cell

    def __str__(self) -> str:
        cell = self.first
        return f"{cell.benchmark.name} {cell.implementation.name} {cell.place} seed {cell.seed}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All selected cells with their decisions, and the launches in their order.

    ``executions`` by a platform's name; ``execution_hashes`` by an image's target, toolchain and platform;
    ``records`` are those of the store that it was made with, oldest first.
    """

    profile: str
    cells: tuple[PlannedCell, ...]
    launches: tuple[Launch, ...]
    executions: Mapping[str, Execution]
    execution_hashes: Mapping[ImageKey, str] = field(default_factory=dict)
    records: tuple[Record, ...] = ()

    def keys(self) -> frozenset[str]:
        """The content keys of everything that is not left out."""
        return frozenset(each.key for each in self.cells if each.decision is not Decision.LEAVE_OUT)

    def cell_of(self, key: str) -> Cell:
        """The cell with this content key."""
        return next(each.cell for each in self.cells if each.key == key)

    def images(self) -> tuple[tuple[ImageTarget, Cell], ...]:
        """The image targets that the cells need, each with a cell that names its toolchain and platform."""
        needed: dict[ImageKey, tuple[ImageTarget, Cell]] = {}
        for each in self.cells:
            if each.decision is not Decision.LEAVE_OUT:
                cell = each.cell
                for target in (CORE, cell.implementation.image):
                    key = (target.name, cell.toolchain.name, cell.platform.name)
                    needed.setdefault(key, (target, cell))
        return tuple(needed.values())


def make_plan(
    matrix: Matrix, selection: Selection, executor: Executor, store: Store, *, fresh: bool = False
) -> Plan:
    """Decide for every selected cell; start nothing, write nothing.

    Args:
        matrix: what can be run.
        selection: what of it is wanted.
        executor: where it would run.
        store: what has been run already.
        fresh: run again what could be reused.
    """
    executions = _executions(matrix, executor)
    hashes: dict[ImageKey, str] = {}
    records = store.records()
    known, earlier = newest_by_key(records), Earlier(records)
    planned = [
        _decide(cell, parts, executor, known, earlier, fresh=fresh)
        for cell, parts in _contents(matrix, selection, executor, executions, hashes)
    ]
    planned = _keep_reference_outputs(_leave_out_the_incomparable(planned, store), store)
    return Plan(
        profile=selection.profile,
        cells=tuple(planned),
        launches=tuple(
            launches_of(
                planned,
                executions,
                lambda cell: matrix.profiles[selection.profile].deadline_seconds.of(
                    emulated=executions[cell.platform.name].emulated
                ),
            )
        ),
        executions=executions,
        execution_hashes=hashes,
        records=tuple(records),
    )


def content_keys(
    matrix: Matrix, selection: Selection, executor: Executor, hashes: Mapping[ImageKey, str] | None = None
) -> frozenset[str]:
    """The content keys of all selected cells: which records are of today's matrix, machine and images.

    Args:
        matrix: what can be run.
        selection: what of it is meant.
        executor: where it would run.
        hashes: those execution hashes that are known already (see `Plan`).
    """
    executions = _executions(matrix, executor)
    return frozenset(
        content_hash(parts)
        for _, parts in _contents(matrix, selection, executor, executions, dict(hashes or {}))
    )


def _executions(matrix: Matrix, executor: Executor) -> dict[str, Execution]:
    return {name: executor.execution(platform) for name, platform in matrix.platforms.items()}


def _contents(
    matrix: Matrix,
    selection: Selection,
    executor: Executor,
    executions: Mapping[str, Execution],
    hashes: dict[ImageKey, str],
) -> Iterable[tuple[Cell, Content]]:
    """Each selected cell with what its key is the hash of; ``hashes`` is filled as images are met."""
    fingerprint = machine.fingerprint(executor.machine())
    for cell in _with_references(list(select(matrix, selection, executions))):
        image = (cell.implementation.image.name, cell.toolchain.name, cell.platform.name)
        if image not in hashes:
            hashes[image] = executor.identify(cell.implementation.image, cell.toolchain, cell.platform)
        yield (
            cell,
            content(
                cell,
                execution_hash=hashes[image],
                execution=executions[cell.platform.name],
                executor=executor.name,
                machine=fingerprint,
            ),
        )


def _with_references(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, and for each benchmark and platform the first seed of the reference, which the gate needs."""
    result: list[Cell] = []
    for _, group in groupby(cells, key=_room):
        members = list(group)
        first_seed = members[0].seed
        reference = members[0].benchmark.reference
        present = {(each.implementation.name, each.case.name, each.seed) for each in members}
        missing: dict[str, Cell] = {}
        for each in members:
            if (reference.name, each.case.name, first_seed) not in present:
                missing.setdefault(each.case.name, replace(each, implementation=reference, seed=first_seed))
        result += [*missing.values(), *members]
    return result


def _decide(
    cell: Cell,
    parts: Content,
    executor: Executor,
    known: Mapping[str, Record],
    earlier: Earlier,
    *,
    fresh: bool,
) -> PlannedCell:
    key = content_hash(parts)
    reason = (
        cell.implementation.left_out(cell.platform.name, cell.case.name, cell.limits.name)
        or instructions.left_out_here(cell.limits, cell.platform, executor.machine()["simd"])
        or executor.cpus(cell.limits).too_few(cell.limits.cpus)
        or executor.left_out(cell.implementation, cell.platform)
    )
    decision, record = Decision.RUN, known.get(key)
    if reason is not None:
        decision, record, why = Decision.LEAVE_OUT, None, reason
    elif record is None:
        nearest = earlier.changes(cell, parts)
        record, why = (nearest[0], "; ".join(nearest[1])) if nearest else (None, "no record of this cell")
    elif fresh:
        why = "asked for anew, although a record is there"
    elif record.failed:
        why = f"failed before: {record.data['failure']['kind']}"
    elif other := other_cpus(record, cell.limits, executor.cpus(cell.limits)):
        why = other
    else:
        decision, why = Decision.REUSE, f"record {record.identifier}"
    return PlannedCell(
        cell=cell,
        key=key,
        decision=decision,
        why=why,
        record=record.identifier if record is not None else None,
    )


def _leave_out_the_incomparable(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """What would run for nothing is left out: no gate can pass where the reference cannot run and never has."""
    keys = _reference_keys(planned)
    reasons = {
        each.key: f"its reference {each.cell.implementation.name} is left out: {each.why}"
        for each in planned
        if each.cell.implementation.reference and each.decision is Decision.LEAVE_OUT
    }
    result = []
    for each in planned:
        key = keys[_room(each.cell), each.cell.case.name]
        if each.decision is Decision.RUN and key in reasons and store.files("references", key) is None:
            each = replace(each, decision=Decision.LEAVE_OUT, why=reasons[key], record=None)  # noqa: PLW2901 (it is kept below)
        result.append(each)
    return result


def _keep_reference_outputs(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """A reference whose outputs are gone is run again, if anything is to be compared with them."""
    result = []
    keys = _reference_keys(planned)
    waiting = {
        keys[_room(each.cell), each.cell.case.name] for each in planned if each.decision is Decision.RUN
    }
    for each in planned:
        gone = each.key in waiting and store.files("references", each.key) is None
        if each.decision is Decision.REUSE and gone:
            why = "others are compared with its outputs, which are not kept any more"
            each = replace(each, decision=Decision.RUN, why=why)  # noqa: PLW2901 (it is kept below)
        result.append(each)
    return result


def launches_of(
    planned: Sequence[PlannedCell],
    executions: Mapping[str, Execution],
    deadline_seconds: Callable[[Cell], float],
) -> Iterable[Launch]:
    """Launches in a seeded, interleaved order: drift of the machine hits all implementations alike.

    Within each room (benchmark, platform, limits, toolchain) seeds follow one another and implementations are
    shuffled anew within each; the first launch of a room is its reference, which every gate waits for.

    Args:
        planned: all cells, room by room; those that run go into launches.
        executions: how each platform executes here, by its name.
        deadline_seconds: of a launch, given its first cell.
    """
    keys = _reference_keys(planned)
    for room, group in groupby(planned, key=lambda each: _room(each.cell)):
        launches: dict[tuple[int, str, str], list[PlannedCell]] = {}
        for each in group:
            if each.decision is Decision.RUN:
                # A training is a launch of its own; the cases of an operation share one.
                case = each.cell.case.name if each.cell.benchmark.kind is Kind.TRAINING else ""
                launches.setdefault((each.cell.seed, each.cell.implementation.name, case), []).append(each)
        order = list(launches.values())
        random.Random(" ".join(room)).shuffle(order)  # noqa: S311 (an order, not a secret)
        seeds = list(dict.fromkeys(each.cell.seed for each in planned if _room(each.cell) == room))
        first_keys = {keys[room, each[0].cell.case.name] for each in order}
        order.sort(key=lambda each: (each[0].key not in first_keys, seeds.index(each[0].cell.seed)))
        for cells in order:
            yield Launch(
                cells=tuple(cells),
                execution=executions[cells[0].cell.platform.name],
                deadline_seconds=deadline_seconds(cells[0].cell),
                reference_keys=tuple(keys[room, each.cell.case.name] for each in cells),
            )


def _room(cell: Cell) -> tuple[str, str, str, str]:
    """Within one room the reference's outputs serve all gates and times are comparable."""
    return (cell.toolchain.name, cell.limits.name, cell.platform.name, cell.benchmark.name)


def _reference_keys(planned: Sequence[PlannedCell]) -> dict[tuple[tuple[str, str, str, str], str], str]:
    """For each room and case the key of the reference cell that the gate compares with: its first seed."""
    keys: dict[tuple[tuple[str, str, str, str], str], str] = {}
    for each in planned:
        if each.cell.implementation.reference:
            keys.setdefault((_room(each.cell), each.cell.case.name), each.key)
    return keys
