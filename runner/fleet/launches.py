"""A launch in the words that its job reads, and back again on the node."""

from collections.abc import Iterator
from dataclasses import replace

from runner.executors.base import Executor
from runner.fleet.spool import Task, TaskCell
from runner.matrix import Matrix
from runner.planning.cells import Cell, Selection, contents, select
from runner.planning.planned import Decision, KeyedCell, Launch, Plan, PlannedCell
from runner.records.execution import Execution
from runner.records.record import CellNames, content_hash
from runner.system import machine
from runner.system.errors import NodeDiffers


def task_of(launch: Launch) -> Task:
    """What the job of a launch reads."""
    return Task(
        name=str(launch),
        cells=tuple(
            TaskCell(
                names=CellNames(**each.cell.names()),  # type: ignore[arg-type]  # the names are those of a record
                key=each.key,
                key_version=each.key_version,
                reference_key=each.reference.key,
                reference_seed=each.reference.cell.seed,
            )
            for each in launch.cells
        ),
        deadline_seconds=launch.deadline_seconds,
        target_precision=launch.target_precision,
    )


def plan_of(task: Task, profile: str, matrix: Matrix, executor: Executor) -> Plan:
    """The plan of this one launch, on the node that this is.

    Raises:
        NodeDiffers: its cells are not those that were planned: another machine, another image, or another matrix.
    """
    first = task.cells[0].names
    platform = matrix.platforms.get(first.platform)
    if platform is None or profile not in matrix.profiles:
        raise _changed(f"{first.platform} or {profile} is no longer in it")
    executions = {platform.name: executor.execution(platform)}
    cells = tuple(_planned(each, profile, matrix, executor, executions) for each in task.cells)
    launch = Launch(
        cells=cells,
        execution=executions[platform.name],
        deadline_seconds=task.deadline_seconds,
        target_precision=task.target_precision,
    )
    return Plan(profile=profile, cells=cells, launches=(launch,), executions=executions)


def _planned(
    task: TaskCell, profile: str, matrix: Matrix, executor: Executor, executions: dict[str, Execution]
) -> PlannedCell:
    cell = next(_cells(task.names, profile, matrix, executions), None)
    if cell is None:
        raise _changed(f"it has no {' '.join(map(str, task.names.plain().values()))}")
    found = contents(
        cell,
        execution_hash=executor.identify(cell.implementation.image, cell.toolchain, cell.platform),
        execution=executions[cell.platform.name],
        executor=executor.name,
        machine=machine.fingerprint(executor.machine(cell.platform)),
    )
    if content_hash(found.get(task.key_version, {})) != task.key:
        here = ", ".join(f"{name} {value}" for name, value in machine.fingerprint().items())
        raise NodeDiffers(
            what=f"{cell} is another cell on this node than in its plan",
            why=f"the plan was made for another machine than this one ({here}), or a file of the checkout changed since",
            fix="let a constraint of the matrix select nodes that are alike, and leave the checkout alone until the jobs "
            "have ended",
        )
    reference = replace(cell, implementation=cell.benchmark.reference, seed=task.reference_seed)
    return PlannedCell(
        cell=cell,
        key=task.key,
        key_version=task.key_version,
        reference=KeyedCell(cell=reference, key=task.reference_key, key_version=task.key_version),
        decision=Decision.RUN,
        why="a job of a fleet runs it",
    )


def _cells(
    names: CellNames, profile: str, matrix: Matrix, executions: dict[str, Execution]
) -> Iterator[Cell]:
    """The cells of the matrix with these names: one, or none."""
    selection = Selection(
        profile=profile,
        platforms=(names.platform,),
        only=(f"{names.benchmark}/{names.implementation}/{names.case}",),
        seeds=(names.seed,),
        limits=(names.limits,),
        toolchains=(names.toolchain,),
    )
    if names.limits in matrix.limits:
        wanted = names.plain()
        yield from (each for each in select(matrix, selection, executions) if each.names() == wanted)


def _changed(why: str) -> NodeDiffers:
    return NodeDiffers(
        what="the matrix is not that of the plan",
        why=why,
        fix="leave the matrix alone until the jobs of a plan have ended, then run again",
    )
