"""The plan: which selected cells run, in which launches and in which order, and why the others do not."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby

from runner.executors import instructions
from runner.executors.base import Executor
from runner.matrix import Kind, Matrix
from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import Cell, Selection, contents, select
from runner.planning.cpu_differences import other_cpus
from runner.planning.key_differences import Earlier
from runner.records import references
from runner.records.execution import Execution
from runner.records.key import Content, newest_key_version
from runner.records.ledger.interrupted import Interrupted, interrupted_plan
from runner.records.record import Record, content_hash
from runner.records.store import Store, newest_by_key
from runner.referee.nonce import Handed
from runner.system import machine

ImageKey = tuple[str, str, str]


class Decision(Enum):
    """Whether a cell runs, is reused or is left out."""

    RUN = "run"
    REUSE = "reuse"
    LEAVE_OUT = "leave out"


@dataclass(frozen=True, kw_only=True)
class KeyedCell:
    """A cell and its content key, made by the rules of ``key_version``."""

    cell: Cell
    key: str
    key_version: int


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell, its content key, and the decision with its reason.

    ``reference`` is the cell whose outputs the gate compares with; a reference may be its own. ``record`` is the
    identifier of the record that is reused, has failed, or is compared with in ``why``. ``handed`` is what an earlier
    run's referee drew for it.
    """

    cell: Cell
    key: str
    key_version: int
    reference: KeyedCell
    decision: Decision
    why: str
    record: str | None = None
    handed: Handed | None = None

    @property
    def kept_as(self) -> str:
        """The name under which the store keeps the outputs that it is compared with: those of one nonce, if any."""
        return (
            self.reference.key
            if self.handed is None
            else content_hash([self.reference.key, self.handed.nonce])
        )

    @property
    def is_compared_with(self) -> bool:
        """Whether gates compare with the outputs of this exact cell."""
        return self.key == self.reference.key


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One process in one container: all cases of an operation, or one training."""

    cells: tuple[PlannedCell, ...]
    execution: Execution
    deadline_seconds: float

    @property
    def first(self) -> Cell:
        """One cell of the launch; its cells differ only in the case."""
        return self.cells[0].cell

    def __str__(self) -> str:
        cell = self.first
        return f"{cell.benchmark.name} {cell.implementation.name} {cell.place} seed {cell.seed}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All selected cells with their decisions, and the launches in their order.

    ``executions`` go by a platform's name, and ``execution_hashes`` by an image's target, toolchain and platform.
    ``records`` are the store's records at the time of planning, oldest first.
    """

    profile: str
    cells: tuple[PlannedCell, ...]
    launches: tuple[Launch, ...]
    executions: Mapping[str, Execution]
    execution_hashes: Mapping[ImageKey, str] = field(default_factory=dict)
    records: tuple[Record, ...] = ()

    def keys(self) -> frozenset[str]:
        """The content keys of all cells that are not left out."""
        return frozenset(each.key for each in self.cells if each.decision is not Decision.LEAVE_OUT)

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
    """Decide for every selected cell whether it runs. This starts and writes nothing.

    Args:
        matrix: all that can be run.
        selection: the wanted part of the matrix.
        executor: where the cells would run.
        store: the records of earlier runs.
        fresh: whether to run again the cells whose records could be reused.
    """
    executions = _executions(matrix, executor)
    hashes: dict[ImageKey, str] = {}
    records = store.records()
    known, earlier = newest_by_key(records), Earlier(records)
    every = [
        (_keyed(cell, parts, {} if fresh else known), parts)
        for cell, parts in _contents(matrix, selection, executor, executions, hashes)
    ]
    reference_cells = _references(keyed for keyed, _ in every)
    planned = [
        _decide(keyed, reference_cells[_comparison(keyed.cell)], parts, executor, known, earlier, fresh=fresh)
        for keyed, parts in every
    ]
    planned = _keep_reference_outputs(_leave_out_the_incomparable(planned, store), store, known)
    planned = _measure_together(planned, executions, known, interrupted_plan(store.ledger_path))
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
    """The content keys of all selected cells, which tell the records of today's matrix, machine and images.

    Args:
        matrix: all that can be run.
        selection: the wanted part of the matrix.
        executor: where the cells would run.
        hashes: the execution hashes that are known already (see `Plan`).
    """
    executions = _executions(matrix, executor)
    return frozenset(
        content_hash(part)
        for _, parts in _contents(matrix, selection, executor, executions, dict(hashes or {}))
        for part in parts.values()
    )


def _executions(matrix: Matrix, executor: Executor) -> dict[str, Execution]:
    return {name: executor.execution(platform) for name, platform in matrix.platforms.items()}


def _contents(
    matrix: Matrix,
    selection: Selection,
    executor: Executor,
    executions: Mapping[str, Execution],
    hashes: dict[ImageKey, str],
) -> Iterable[tuple[Cell, Mapping[int, Content]]]:
    """Each selected cell with the contents of its keys. ``hashes`` gains the hash of each new image."""
    fingerprint = machine.fingerprint(executor.machine())
    for cell in _with_references(list(select(matrix, selection, executions)), executions):
        image = (cell.implementation.image.name, cell.toolchain.name, cell.platform.name)
        if image not in hashes:
            hashes[image] = executor.identify(cell.implementation.image, cell.toolchain, cell.platform)
        yield (
            cell,
            contents(
                cell,
                execution_hash=hashes[image],
                execution=executions[cell.platform.name],
                executor=executor.name,
                machine=fingerprint,
            ),
        )


def _keyed(cell: Cell, parts: Mapping[int, Content], known: Mapping[str, Record]) -> KeyedCell:
    """The cell under the key of a reusable record, by any version of the rules.

    Without such a record the newest rules make the key.
    """
    keys = {version: content_hash(part) for version, part in parts.items()}
    for version, key in keys.items():
        record = known.get(key)
        if record is not None and not record.failed and record.made_by_rules == version:
            return KeyedCell(cell=cell, key=key, key_version=version)
    newest = newest_key_version()
    return KeyedCell(cell=cell, key=keys[newest], key_version=newest)


def _with_references(cells: Sequence[Cell], executions: Mapping[str, Execution]) -> list[Cell]:
    """The cells, and for each room the reference's cell at its first seed, which the gate needs.

    Where a ratio is of one run, the reference is measured at each seed of the others.
    """
    result: list[Cell] = []
    for _, group in groupby(cells, key=_room):
        members = list(group)
        first_seed = members[0].seed
        reference = members[0].benchmark.reference
        present = {(each.implementation.name, each.case.name, each.seed) for each in members}
        missing: dict[tuple[str, int], Cell] = {}
        together = _is_measured_together(members[0], executions)
        for each in members:
            for seed in (first_seed, each.seed) if together else (first_seed,):
                if (reference.name, each.case.name, seed) not in present:
                    name = (each.case.name, seed)
                    missing.setdefault(name, replace(each, implementation=reference, seed=seed))
        # The first seed's come first: gates compare with them.
        result += [*sorted(missing.values(), key=lambda each: each.seed != first_seed), *members]
    return result


def _decide(
    keyed: KeyedCell,
    reference: KeyedCell,
    parts: Mapping[int, Content],
    executor: Executor,
    known: Mapping[str, Record],
    earlier: Earlier,
    *,
    fresh: bool,
) -> PlannedCell:
    cell, key = keyed.cell, keyed.key
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
        why = "asked to run again, although a record exists"
    elif record.failure is not None:
        why = f"failed before: {record.failure.kind}"
    elif other := other_cpus(record, cell.limits, executor.cpus(cell.limits)):
        why = other
    else:
        decision, why = Decision.REUSE, f"record {record.identifier}"
    return PlannedCell(
        cell=cell,
        key=key,
        key_version=keyed.key_version,
        reference=reference,
        decision=decision,
        why=why,
        record=record.identifier if record is not None else None,
    )


def _leave_out_the_incomparable(planned: Sequence[PlannedCell], store: Store) -> list[PlannedCell]:
    """Leave out cells that would run for nothing: no gate can pass where the reference cannot run and never has."""
    reasons = {
        each.key: f"its reference {each.cell.implementation.name} is left out: {each.why}"
        for each in planned
        if each.cell.implementation.reference and each.decision is Decision.LEAVE_OUT
    }
    result = []
    for each in planned:
        key = each.reference.key
        if each.decision is Decision.RUN and key in reasons and not _is_kept(store, key, None):
            each = replace(each, decision=Decision.LEAVE_OUT, why=reasons[key], record=None)  # noqa: PLW2901 (it is kept below)
        result.append(each)
    return result


def _keep_reference_outputs(
    planned: Sequence[PlannedCell], store: Store, known: Mapping[str, Record]
) -> list[PlannedCell]:
    """Run a reference again whose outputs are not kept as its record says, if a running cell's gate needs them."""
    result = []
    waiting = {each.reference.key for each in planned if each.decision is Decision.RUN}
    for each in planned:
        if (
            each.decision is Decision.REUSE
            and each.key in waiting
            and not _is_kept(store, each.key, known[each.key])
        ):
            why = "others are compared with its outputs, which are not kept any more"
            if store.files(references.AREA, each.key) is not None:
                why = "others are compared with its outputs, and those that are kept are not its record's"
            each = replace(each, decision=Decision.RUN, why=why)  # noqa: PLW2901 (it is kept below)
        result.append(each)
    return result


def _measure_together(
    planned: Sequence[PlannedCell],
    executions: Mapping[str, Execution],
    known: Mapping[str, Record],
    interrupted: Interrupted,
) -> list[PlannedCell]:
    """Run a room again whole where a cell of it is new, or its reference runs: a ratio is of one run.

    Without this a ratio would compare two days, and a competitor would get inputs whose nonce is known already. An
    interrupted run goes on: what it measured counts, and what it was to measure beside that is measured. Rooms without a
    referee, and those whose times are not ranked, stay as they are.
    """
    result: list[PlannedCell] = []
    for _, group in groupby(planned, key=lambda each: _room(each.cell)):
        members = list(group)
        if _is_measured_together(members[0].cell, executions):
            members = _beside_new(_going_on(members, interrupted), known, interrupted)
        result += members
    return result


def _is_measured_together(cell: Cell, executions: Mapping[str, Execution]) -> bool:
    """Whether ratios of a cell's room are formed, and a nonce tells which run they are of."""
    return cell.benchmark.refereed and executions[cell.platform.name].ranked


def _going_on(room: Sequence[PlannedCell], interrupted: Interrupted) -> list[PlannedCell]:
    """Run what an interrupted run was to measure in a room that it had begun, or that it has to begin."""
    begun = any(each.key in interrupted.done for each in room)
    asked = any(each.decision is Decision.RUN and each.key in interrupted.left for each in room)
    why = "the interrupted run was to measure it beside others"
    return [
        _run_again(each, why) if (begun or asked) and each.key in interrupted.left else each for each in room
    ]


def _beside_new(
    room: Sequence[PlannedCell], known: Mapping[str, Record], interrupted: Interrupted
) -> list[PlannedCell]:
    """Run all of a room where a cell of it runs that has no record yet, or that others are compared with."""
    new = next(
        (
            each.cell
            for each in room
            if each.decision is Decision.RUN
            and each.key not in interrupted.planned
            and (each.is_compared_with or each.key not in known)
        ),
        None,
    )
    if new is None:
        return list(room)
    why = f"measured beside {new.implementation.name} {new.case.name} seed {new.seed}, which runs"
    return [_run_again(each, why) for each in room]


def _run_again(planned: PlannedCell, why: str) -> PlannedCell:
    if planned.decision is not Decision.REUSE:
        return planned
    return replace(planned, decision=Decision.RUN, why=why)


def _is_kept(store: Store, key: str, record: Record | None) -> bool:
    """Whether the outputs under a key are kept unaltered, and are those of its record where there is one."""
    found = references.kept(store, key)
    return found is not None and (found.intact if record is None else found.are(record.outputs))


def launches_of(
    planned: Sequence[PlannedCell],
    executions: Mapping[str, Execution],
    deadline_seconds: Callable[[Cell], float],
) -> Iterable[Launch]:
    """Launches in a seeded, interleaved order, so that drift of the machine affects all implementations alike.

    Within each room (benchmark, platform, limits, toolchain) seeds follow one another. Within each seed the
    implementations are shuffled again. The first launch of a room is its reference, which every gate waits for.

    Args:
        planned: all cells, room by room. The cells that run are put into launches.
        executions: how each platform executes here, by its name.
        deadline_seconds: of a launch, given its first cell.
    """
    for room, group in groupby(planned, key=lambda each: _room(each.cell)):
        launches: dict[tuple[int, str, str], list[PlannedCell]] = {}
        for each in group:
            if each.decision is Decision.RUN:
                # Each training is one launch; the cases of an operation share a launch.
                case = each.cell.case.name if each.cell.benchmark.kind is Kind.TRAINING else ""
                launches.setdefault((each.cell.seed, each.cell.implementation.name, case), []).append(each)
        order = list(launches.values())
        random.Random(" ".join(room)).shuffle(order)  # noqa: S311 (an order, not a secret)
        seeds = list(dict.fromkeys(each.cell.seed for each in planned if _room(each.cell) == room))
        first_keys = {each[0].reference.key for each in order}
        order.sort(key=lambda each: (each[0].key not in first_keys, seeds.index(each[0].cell.seed)))
        for cells in order:
            yield Launch(
                cells=tuple(cells),
                execution=executions[cells[0].cell.platform.name],
                deadline_seconds=deadline_seconds(cells[0].cell),
            )


def _room(cell: Cell) -> tuple[str, str, str, str]:
    """The room of a cell: within it one reference serves all gates, and times are comparable."""
    return (cell.toolchain.name, cell.limits.name, cell.platform.name, cell.benchmark.name)


def _comparison(cell: Cell) -> tuple[tuple[str, str, str, str], str]:
    """The room and case of a cell, which share one reference."""
    return (_room(cell), cell.case.name)


def _references(cells: Iterable[KeyedCell]) -> dict[tuple[tuple[str, str, str, str], str], KeyedCell]:
    """For each room and case the reference's cell that the gate compares with: its first seed."""
    found: dict[tuple[tuple[str, str, str, str], str], KeyedCell] = {}
    for each in cells:
        if each.cell.implementation.reference:
            found.setdefault(_comparison(each.cell), each)
    return found
