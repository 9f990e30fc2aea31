"""The run: prepares images, starts the planned launches one after another, judges them, and stores the records."""

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from runner.executors.base import Executor, LaunchRequest, LaunchResult
from runner.matrix.images import CORE
from runner.planning.plan import Launch, Plan, PlannedCell
from runner.planning.recipe import work_of
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.records.record import SCHEMA_VERSION, Record, seal
from runner.records.store import Store
from runner.referee.protocol import Reader, arguments
from runner.running.inputs import ensure_inputs, inputs_of_launch
from runner.running.pins import verified_software
from runner.running.progress import Progress
from runner.system.files import write_atomically
from runner.system.hashes import file_hashes
from runner.system.privacy import without_host
from runner.system.scratch import scratch_directory, sweep_scratch
from runner.system.signals import uninterrupted

if TYPE_CHECKING:
    from runner.gate import Judgement

_KEPT_TAIL = 2000
_Images = Mapping[tuple[str, str, str], tuple[ImageFacts, Mapping[str, str | None]]]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a run did."""

    ran: int
    failed: tuple[Record, ...]


def run(plan: Plan, executor: Executor, store: Store, progress: Progress) -> Summary:
    """Run the plan. Every finished cell is in the store before the next launch starts.

    Raises:
        ImageBuildFailed, PinMismatch, DockerUnavailable, StoreError: nothing more can be run.
    """
    _sweep(executor, store, progress.say)
    images = _prepare(plan, executor, store, progress.say)
    records: list[Record] = []
    progress.begin(plan.launches, store, here=executor.machine())
    for launch in plan.launches:
        records += _run_launch(launch, plan, images, executor, store, progress)
    progress.end()
    return Summary(ran=len(records), failed=tuple(record for record in records if record.failed))


def _sweep(executor: Executor, store: Store, say: Callable[[str], None]) -> None:
    """What runners that were killed left behind goes first: it may hold the space and the CPUs that this run needs."""
    executor.sweep(say)
    files = [*sweep_scratch(), *store.sweep()]
    if files:
        say(f"removed what an earlier runner left behind: {len(files)} unfinished files")


def _prepare(plan: Plan, executor: Executor, store: Store, say: Callable[[str], None]) -> _Images:
    """Every image that the plan's cells need, with the versions that it was asked for and verified to hold."""
    if plan.launches:
        store.require_writable()
    prepared = {
        (target.name, cell.toolchain.name, cell.platform.name): (
            target,
            cell,
            executor.prepare(target, cell.toolchain, cell.platform, say),
        )
        for target, cell in plan.images()
    }
    if not plan.launches:
        return {}
    return {
        key: (image, verified_software(target, cell, image=image, executor=executor, store=store))
        for key, (target, cell, image) in prepared.items()
    }


def _run_launch(
    launch: Launch, plan: Plan, images: _Images, executor: Executor, store: Store, progress: Progress
) -> list[Record]:
    # The gate's libraries are read when there is something to judge: a call that reuses everything has nothing.
    from runner.gate import expected_counts  # noqa: PLC0415

    cell = launch.first
    image, software = images[cell.implementation.image.name, cell.toolchain.name, cell.platform.name]
    core, _ = images[CORE.name, cell.toolchain.name, cell.platform.name]
    inputs = ensure_inputs(
        cell, image=core, executor=executor, store=store, deadline_seconds=launch.deadline_seconds
    )
    name = f"{cell.benchmark.name}-{cell.implementation.name}-{cell.platform.name}-s{cell.seed}-{uuid4().hex[:8]}"
    # In the process's own seeded order: a case that heats or fills a cache does not always meet the same next one.
    cells = list(launch.cells)
    random.Random(f"{cell.benchmark.name} {cell.seed}").shuffle(cells)  # noqa: S311 (an order, not a secret)
    reader = Reader(cases=[each.cell.case.name for each in cells], on_progress=progress.within)
    state = executor.state()
    started_at = datetime.now(UTC)
    progress.start(launch)
    with scratch_directory("launch") as temporary, ExitStack() as keeping:
        outputs = temporary / "outputs"
        outputs.mkdir()
        result = executor.launch(
            LaunchRequest(
                name=name,
                image=image,
                platform=cell.platform,
                command=(
                    *cell.implementation.command,
                    *arguments(
                        [(each.cell.case.name, dict(each.cell.parameters)) for each in cells], cell.seed
                    ),
                ),
                limits=cell.limits,
                deadline_seconds=launch.deadline_seconds,
                input_directory=inputs_of_launch(inputs, list(reader.cases), temporary / "inputs"),
                output_directory=outputs,
                on_line=reader.line,
                keeper_image=core,
                executable_tmp=cell.implementation.image.executable_tmp,
            )
        )
        # Work that is done is kept: a wish to stop waits until all cells of this launch are stored.
        keeping.enter_context(uninterrupted())
        result = replace(result, stderr=without_host(result.stderr))
        if result.stderr:
            write_atomically(store.log_path(name), result.stderr)
        facts = {
            "id": name,
            "cases": list(reader.cases),
            "executor": executor.name,
            "started_at": started_at.isoformat(),
            "wall_seconds": result.wall_seconds,
            "deadline_seconds": launch.deadline_seconds,
            "limits": result.limits.facts(),
            "exit_code": result.exit_code,
            "out_of_memory": result.out_of_memory,
            "state": state,
            "stderr_tail": result.stderr[-_KEPT_TAIL:],
        }
        input_hashes, output_hashes = file_hashes(inputs), file_hashes(outputs)
        records = []
        for planned, reference_key in zip(launch.cells, launch.reference_keys, strict=True):
            case = planned.cell.case.name
            judgement = _judge(planned, reference_key, result, reader, outputs / case, store)
            if planned.key == reference_key and judgement.failure is None:
                store.save_files("references", planned.key, outputs / case)
            records.append(
                store.add(
                    seal(
                        {
                            "schema": SCHEMA_VERSION,
                            "id": f"{started_at:%Y%m%dT%H%M%S%fZ}-{planned.key[:16]}",
                            "key": planned.key,
                            "created_at": datetime.now(UTC).isoformat(),
                            "profile": plan.profile,
                            "cell": planned.cell.names(),
                            "parameters": dict(planned.cell.parameters),
                            "command": list(planned.cell.implementation.command),
                            "work": work_of(
                                planned.cell, reference_seed=plan.cell_of(reference_key).seed, core=core
                            ),
                            "determinism": planned.cell.implementation.determinism.value,
                            "execution": {
                                "kind": launch.execution.kind.value,
                                "emulator": launch.execution.emulator,
                            },
                            "image": asdict(image),
                            "software": dict(software),
                            "machine": executor.machine(),
                            "launch": facts,
                            "inputs": _below(input_hashes, case),
                            "outputs": _below(output_hashes, case),
                            "measurement": reader.measurements.get(case),
                            "episodes": None if judgement.episodes is None else list(judgement.episodes),
                            "expected_counts": expected_counts(
                                planned.cell.benchmark, planned.cell.parameters
                            ),
                            "gate": [asdict(check) for check in judgement.checks],
                            "failure": None
                            if judgement.failure is None
                            else {
                                "kind": judgement.failure.kind.value,
                                "detail": without_host(judgement.failure.detail),
                            },
                        }
                    )
                )
            )
    progress.finish(launch, records)
    return records


def _judge(
    planned: PlannedCell,
    reference_key: str,
    result: LaunchResult,
    reader: Reader,
    outputs: Path,
    store: Store,
) -> "Judgement":
    from runner.gate import Judgement, judge  # noqa: PLC0415 (as above)

    case = planned.cell.case.name
    failure = result.failure or result.explain(reader.failure_of(case))
    reference, same_work = None, not planned.cell.implementation.differs
    if failure is None and same_work and planned.key != reference_key:
        reference = store.files("references", reference_key)
        if reference is None:
            failure = Failure(
                kind=FailureKind.NO_REFERENCE,
                detail=f"the reference {planned.cell.benchmark.reference.name} failed, so nothing can be compared",
            )
    if failure is not None:
        return Judgement(checks=(), episodes=None, failure=failure)
    judgement = judge(
        planned.cell.benchmark,
        parameters=planned.cell.parameters,
        measurement=reader.measurements[case],
        wall_seconds=result.wall_seconds,
        outputs=outputs,
        reference=reference,
        same_work=same_work,
    )
    return replace(judgement, failure=result.explain(judgement.failure))


def _below(hashes: Mapping[str, str], case: str) -> dict[str, str]:
    """The hashes of one case's files, by their names."""
    return {
        name.removeprefix(f"{case}/"): value for name, value in hashes.items() if name.startswith(f"{case}/")
    }
