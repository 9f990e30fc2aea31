"""One launch of a run, step by step: prepare it, start it, judge each of its cells, store their records."""

import random
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from runner.executors.base import Executor, LaunchRequest
from runner.matrix.images import CORE
from runner.planning.planned import ImageKey, Launch, PlannedCell
from runner.records import references
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.store import Store
from runner.referee.dialogue import Dialogue
from runner.referee.protocol import REFEREE, Reader, arguments
from runner.running.alone import alone
from runner.running.bookkeeping import Book
from runner.running.examining import examiner_of
from runner.running.inputs import ensure_inputs, inputs_of_launch
from runner.running.progress import Audience
from runner.running.recording import sealed_record
from runner.running.refereeing import (
    dialogue_of,
    is_judged_by_another_run,
    keep_draw,
    works_on_other_inputs,
)
from runner.running.stages import EndedLaunch, PreparedLaunch
from runner.system.files import write_atomically
from runner.system.hashes import file_hashes
from runner.system.printable import log_text
from runner.system.privacy import without_host
from runner.system.scratch import scratch_directory
from runner.system.signals import uninterrupted

if TYPE_CHECKING:
    from runner.gate import Hearing, Judgement


Accept = Callable[[Record], None]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The parts that all launches of a run share. Each image comes with the versions that it holds.

    Nonces follow from the ``secret``. ``accept`` raises an error where a record must not be stored. ``add`` gets each
    accepted record as soon as it is sealed.
    """

    profile: str
    images: Mapping[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]]
    executor: Executor
    store: Store
    add: Callable[[Record], Record]
    progress: Audience
    secret: bytes
    book: Book
    accept: Accept


def run_launch(launch: Launch, around: Surroundings) -> list[Record]:
    """Run one launch; the records of all its cells are in the store when this returns."""
    with around.book.launch(launch) as book:
        prepared = _prepare(launch, around)
        book.name = prepared.name
        with scratch_directory("launch") as scratch, ExitStack() as keeping:
            ended = _start(prepared, around, scratch, keeping)
            _keep_log(ended, around.store)
            for planned in launch.cells:
                book.records.append(_judge_and_store(planned, ended, around))
            book.write()
    around.progress.finish(launch, book.records)
    return book.records


def _prepare(launch: Launch, around: Surroundings) -> PreparedLaunch:
    cell = launch.first
    place = (cell.toolchain.name, cell.platform.name)
    image, software = around.images[cell.implementation.image.name, *place]
    core, _ = around.images[CORE.name, *place]
    inputs = ensure_inputs(
        cell,
        image=core,
        executor=around.executor,
        store=around.store,
        deadline_seconds=launch.deadline_seconds,
        say=around.progress.say,
    )
    cases = _shuffled_cases(launch)
    listener = _listener(launch, list(cases), around)
    return PreparedLaunch(
        launch=launch,
        name=f"{cell.benchmark.name}-{cell.implementation.name}-{cell.platform.name}-s{cell.seed}-{uuid4().hex[:8]}",
        cases=cases,
        image=image,
        software=software,
        core=core,
        inputs=inputs,
        listener=listener,
        examiner=examiner_of(cell, listener, ranked=launch.execution.ranked),
    )


def _listener(launch: Launch, cases: list[str], around: Surroundings) -> Reader | Dialogue:
    if not launch.first.benchmark.refereed:
        return Reader(cases=cases, on_progress=around.progress.within)
    return dialogue_of(launch, store=around.store, secret=around.secret, on_progress=around.progress.within)


def _shuffled_cases(launch: Launch) -> dict[str, dict[str, Any]]:
    """Each case's parameters, in the process's own seeded order.

    A case that heats the processor or fills a cache does not precede the same next one in every process.
    """
    cells = [each.cell for each in launch.cells]
    random.Random(f"{launch.first.benchmark.name} {launch.first.seed}").shuffle(cells)  # noqa: S311 (an order, not a secret)
    return {each.case.name: dict(each.parameters) for each in cells}


def _start(prepared: PreparedLaunch, around: Surroundings, scratch: Path, keeping: ExitStack) -> EndedLaunch:
    """Run the process to its end. From there on an interruption waits until ``keeping`` is closed."""
    request = _request(prepared, scratch)
    outputs, executor = scratch / "outputs", around.executor
    with alone(
        executor,
        request.limits,
        request.platform,
        what=prepared.name,
        seconds=request.deadline_seconds,
        say=around.progress.say,
    ):
        state, started_at, began = executor.state(request.platform), datetime.now(UTC), time.monotonic()
        around.progress.start(prepared.launch)
        result = executor.launch(request)
        state_after = executor.state(request.platform)
    # Finished work is kept: an interruption waits until all cells of this launch are stored.
    keeping.enter_context(uninterrupted())
    return EndedLaunch(
        prepared=prepared,
        started_at=started_at,
        began=began,
        state=state,
        state_after=state_after,
        result=replace(result, stderr=log_text(without_host(result.stderr))),
        outputs=outputs,
        input_hashes=file_hashes(prepared.inputs),
        output_hashes=file_hashes(outputs),
    )


def _request(prepared: PreparedLaunch, scratch: Path) -> LaunchRequest:
    """The process to start, with an empty directory for its outputs and copies of its inputs below ``scratch``."""
    cell, outputs = prepared.launch.first, scratch / "outputs"
    outputs.mkdir()
    listener = prepared.listener
    refereed = isinstance(listener, Dialogue)
    return LaunchRequest(
        name=prepared.name,
        image=prepared.image,
        platform=cell.platform,
        command=(
            *cell.implementation.command,
            *arguments(prepared.cases.items(), cell.seed),
            *((REFEREE,) if refereed else ()),
        ),
        limits=cell.limits,
        deadline_seconds=prepared.launch.deadline_seconds,
        input_directory=inputs_of_launch(prepared.inputs, list(prepared.cases), scratch / "inputs"),
        output_directory=outputs,
        on_line=listener.heard if isinstance(listener, Dialogue) else listener.line,
        on_open=listener.opened if isinstance(listener, Dialogue) else None,
        keeper_image=prepared.core,
        examine=None if prepared.examiner is None else prepared.examiner.commands,
        executable_tmp=cell.implementation.image.executable_tmp,
    )


def _keep_log(ended: EndedLaunch, store: Store) -> None:
    if ended.result.stderr:
        write_atomically(store.log_path(ended.prepared.name), ended.result.stderr)


def _judge_and_store(planned: PlannedCell, ended: EndedLaunch, around: Surroundings) -> Record:
    """One cell: the gate's judgement, the outputs that other gates need, and the record."""
    judgement = _judge(planned, ended, around.store)
    ended.result.require_own(judgement.failure)
    record = sealed_record(
        planned,
        ended,
        judgement,
        profile=around.profile,
        executor=around.executor.name,
        machine=around.executor.machine(planned.cell.platform),
    )
    around.accept(record)
    if planned.is_compared_with and record.failed:
        references.forget(around.store, planned.kept_as)
    elif planned.is_compared_with:
        listener = ended.prepared.listener
        if isinstance(listener, Dialogue):
            refereed = listener.seen[planned.cell.case.name]
            for repetition in refereed.audited:
                shutil.rmtree(ended.outputs / planned.cell.case.name / str(repetition), ignore_errors=True)
            case = planned.cell.case.name
            keep_draw(refereed, ended.outputs / case, ended.inputs_of(case))
        references.keep(around.store, planned.kept_as, ended.outputs / planned.cell.case.name)
    return around.add(record)


def _judge(planned: PlannedCell, ended: EndedLaunch, store: Store) -> "Judgement":
    # The gate's libraries are imported only when there is a cell to judge: many calls reuse every record.
    from runner.gate import Judgement, judge  # noqa: PLC0415

    cell, result, listener = planned.cell, ended.result, ended.prepared.listener
    case, same_work = cell.case.name, not cell.implementation.differs
    said = listener.failure_of(case)
    failure = _ending(result.failure, said) if result.failure else result.explain(said)
    reference = None
    if failure is None and same_work and not planned.is_compared_with:
        reference = references.usable(store, planned.kept_as)
        if reference is None:
            failure = Failure(
                kind=FailureKind.NO_REFERENCE,
                detail=f"the reference {cell.benchmark.reference.name} failed, or its outputs were removed, so nothing "
                "can be compared; run again",
            )
        elif works_on_other_inputs(planned, ended.inputs_of(case), store):
            failure = Failure(
                kind=FailureKind.NO_REFERENCE,
                detail=f"the native reference {cell.benchmark.reference.name} had other input files, so nothing can be "
                "compared",
            )
        elif isinstance(listener, Dialogue) and is_judged_by_another_run(planned, listener, store):
            failure = Failure(
                kind=FailureKind.NO_REFERENCE,
                detail=f"another run measured the reference {cell.benchmark.reference.name} anew meanwhile, so nothing "
                "can be compared; run again",
            )
    if failure is not None:
        return Judgement(checks=(), episodes=None, failure=failure)
    judgement = judge(
        cell.benchmark,
        parameters=cell.parameters,
        measurement=listener.measurement(case) or {},
        wall_seconds=result.wall_seconds,
        outputs=ended.outputs / case,
        reference=reference,
        same_work=same_work,
        hearing=_hearing(planned, ended),
    )
    return replace(judgement, failure=result.explain(judgement.failure))


def _ending(failure: Failure, said: Failure | None) -> Failure:
    """Why a launch failed as a whole, with what the program said wrongly before it ended.

    The referee stops listening to such a program, which may end badly because of that.
    """
    if (
        failure.kind is not FailureKind.EXIT_CODE
        or said is None
        or said.kind is not FailureKind.MALFORMED_OUTPUT
    ):
        return failure
    return replace(failure, detail=f"{failure.detail}; said before: {said.detail}")


def _hearing(planned: PlannedCell, ended: EndedLaunch) -> "Hearing | None":
    """What the referee saw of a case, for the gate; None where there was no referee."""
    # As in `_judge`: only where there is a cell to judge.
    from runner.gate import Hearing  # noqa: PLC0415 (as the comment says)

    case, prepared = planned.cell.case.name, ended.prepared
    listener, examiner = prepared.listener, prepared.examiner
    if not isinstance(listener, Dialogue):
        return None
    return Hearing(
        seed=planned.cell.seed,
        examined=None if examiner is None else examiner.said(ended.result.examined),
        refereed=listener.seen[case],
        channel_seconds=listener.channel_seconds,
        between_seconds=listener.cases[case].between_seconds,
    )
