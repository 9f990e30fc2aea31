"""The plan: which selected cells run, and why the others do not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from runner.executors import instructions
from runner.executors.base import Executor
from runner.matrix import Matrix
from runner.planning.cells import Cell, Selection, contents, select
from runner.planning.cpu_differences import other_cpus
from runner.planning.key_differences import Earlier
from runner.planning.launches import launches_of
from runner.planning.planned import Decision, ImageKey, KeyedCell, Plan, PlannedCell, room_of
from runner.planning.together import is_measured_together, measure_together
from runner.records import references
from runner.records.execution import Execution
from runner.records.key import Content, newest_key_version
from runner.records.ledger.interrupted import interrupted_plan
from runner.records.record import Record, content_hash
from runner.records.store import Store, newest_by_key
from runner.system import machine

# A room of a reference, and the case.
_Comparison = tuple[tuple[str, str, str, str], str]


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
    executions = _executions(matrix, selection, executor)
    machines = _machines(matrix, executions, executor)
    hashes: dict[ImageKey, str] = {}
    records = store.records()
    known, earlier = newest_by_key(records), Earlier(records)
    every = [
        (_keyed(cell, parts, {} if fresh else known), parts)
        for cell, parts in _contents(matrix, selection, executor, executions, machines, hashes)
    ]
    reference_cells = _references(keyed for keyed, _ in every)
    planned = [
        _decide(
            keyed, _reference_of(keyed.cell, reference_cells), parts, executor, known, earlier, fresh=fresh
        )
        for keyed, parts in every
    ]
    planned = _keep_reference_outputs(_leave_out_the_incomparable(planned, store), store, known)
    planned = measure_together(planned, executions, known, interrupted_plan(store.ledger_path))
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
        machines=machines,
        away={name: why for name in executions if (why := executor.away(matrix.platforms[name])) is not None},
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
    executions = _executions(matrix, selection, executor)
    machines = _machines(matrix, executions, executor)
    return frozenset(
        content_hash(part)
        for _, parts in _contents(matrix, selection, executor, executions, machines, dict(hashes or {}))
        for part in parts.values()
    )


def _executions(matrix: Matrix, selection: Selection, executor: Executor) -> dict[str, Execution]:
    """How the selected platforms execute, and beside one of this machine all of it. No machine is asked for nothing."""
    asks_here = any(each.is_here for each in selection.platforms_of(matrix, lambda _: False))
    here = {
        name: executor.execution(each)
        for name, each in matrix.platforms.items()
        if each.is_here and asks_here
    }
    selected = selection.platforms_of(matrix, lambda each: here[each.name].emulated)
    return here | {each.name: executor.execution(each) for each in selected if not each.is_here}


def _machines(
    matrix: Matrix, executions: Mapping[str, Execution], executor: Executor
) -> dict[str, Mapping[str, Any]]:
    return {name: executor.machine(matrix.platforms[name]) for name in executions}


def _contents(
    matrix: Matrix,
    selection: Selection,
    executor: Executor,
    executions: Mapping[str, Execution],
    machines: Mapping[str, Mapping[str, Any]],
    hashes: dict[ImageKey, str],
) -> Iterable[tuple[Cell, Mapping[int, Content]]]:
    """Each selected cell with the contents of its keys. ``hashes`` gains the hash of each new image."""
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
                machine=machine.fingerprint(machines[cell.platform.name]),
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

    Where a ratio is of one run, the reference is measured at each seed of the others. Before a room that a native
    reference judges come that reference's cells, once for all platforms, unless a native room has them already.
    """
    result: list[Cell] = []
    firsts: dict[_Comparison, Cell] = {}
    for _, group in groupby(cells, key=room_of):
        members = list(group)
        if members[0].reference_platform is not None:
            for judge in (each.judge for each in members):
                if (
                    judge is not None
                    and _comparison(judge) not in firsts
                    and not _is_same_work(judge, firsts.get(_comparison(judge.in_its_own_room)))
                ):
                    firsts[_comparison(judge)] = judge
                    result.append(judge)
            result += members
            continue
        first_seed = members[0].seed
        reference = members[0].benchmark.reference
        present = {(each.implementation.name, each.case.name, each.seed) for each in members}
        missing: dict[tuple[str, int], Cell] = {}
        together = is_measured_together(members[0], executions)
        for each in members:
            for seed in (first_seed, each.seed) if together else (first_seed,):
                if (reference.name, each.case.name, seed) not in present:
                    name = (each.case.name, seed)
                    missing.setdefault(name, replace(each, implementation=reference, seed=seed))
        # The first seed's come first: gates compare with them.
        result += [*sorted(missing.values(), key=lambda each: each.seed != first_seed), *members]
        for each in (*missing.values(), *members):
            if each.implementation.reference and each.seed == first_seed:
                firsts[_comparison(each)] = each
    return result


def _is_same_work(judge: Cell, native: Cell | None) -> bool:
    """Whether a cell of a native room is all that a judge would be."""
    return native is not None and (judge.seed, judge.parameters) == (native.seed, native.parameters)


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
        _away(cell, executor)
        or cell.left_out
        or instructions.left_out_here(cell.limits, cell.platform, executor.machine(cell.platform)["simd"])
        or executor.cpus(cell.limits, cell.platform).too_few(cell.limits.cpus)
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
    elif other := other_cpus(record, cell.limits, executor.cpus(cell.limits, cell.platform)):
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


def _away(cell: Cell, executor: Executor) -> str | None:
    why = executor.away(cell.platform)
    return None if why is None else f"host away: {why}"


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


def _is_kept(store: Store, key: str, record: Record | None) -> bool:
    """Whether the outputs under a key are kept unaltered, and are those of its record where there is one."""
    found = references.kept(store, key)
    return found is not None and (found.intact if record is None else found.are(record.outputs))


def _comparison(cell: Cell) -> _Comparison:
    """The room and case of the reference that judges a cell."""
    return (room_of(cell.judge or cell), cell.case.name)


def _reference_of(cell: Cell, found: Mapping[_Comparison, KeyedCell]) -> KeyedCell:
    """The reference's cell that a cell is compared with: its judge, or the cell of a native room that stands for it."""
    judge = found.get(_comparison(cell))
    return judge or found[_comparison((cell.judge or cell).in_its_own_room)]


def _references(cells: Iterable[KeyedCell]) -> dict[_Comparison, KeyedCell]:
    """For each room and case the reference's cell that the gate compares with: its first seed."""
    found: dict[tuple[tuple[str, str, str, str], str], KeyedCell] = {}
    for each in cells:
        if each.cell.implementation.reference:
            found.setdefault(_comparison(each.cell), each)
    return found
