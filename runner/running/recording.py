"""From a launch that has ended to the sealed records of its cells."""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, convert
from msgspec.structs import replace

from runner.executors.base import AppliedLimits
from runner.planning.planned import PlannedCell
from runner.planning.recipe import work_of
from runner.records.audit import audit, contradictions_in_words
from runner.records.failure import Failure, FailureKind
from runner.records.measured import CellFailure, GateCheck, Measurement
from runner.records.place import LaunchFacts, LimitsInForce, Machine, MachineState
from runner.records.record import SCHEMA_VERSION, UNSEALED, CellNames, Record, sealed
from runner.records.refereed import AuditFacts, FinalWeights, RefereeFacts, WindowFacts
from runner.referee.claims import Claims
from runner.referee.dialogue import Audit, Dialogue
from runner.referee.protocol import Reader
from runner.running.stages import EndedLaunch
from runner.system.errors import StoreError
from runner.system.privacy import without_host

if TYPE_CHECKING:
    from runner.gate import Judgement

_KEPT_TAIL = 2000


def sealed_record(
    planned: PlannedCell,
    ended: EndedLaunch,
    judgement: "Judgement",
    *,
    profile: str,
    executor: str,
    machine: Mapping[str, Any],
) -> Record:
    """The record of one cell of a launch.

    Args:
        planned: the cell.
        ended: its launch.
        judgement: the gate's judgement of the cell.
        profile: the profile that is run.
        executor: the name of the executor.
        machine: the machine that it ran on.
    """
    # The gate's libraries are imported only when there is a cell to judge: many calls reuse every record.
    from runner.gate import expected_counts  # noqa: PLC0415

    cell, prepared = planned.cell, ended.prepared
    case = cell.case.name
    record = sealed(
        Record(
            schema=SCHEMA_VERSION,
            identifier=f"{ended.started_at:%Y%m%dT%H%M%S%fZ}-{planned.key[:16]}",
            key=planned.key,
            key_version=planned.key_version,
            # Not by the clock of the machine, which may have been set while the launch ran.
            created_at=(ended.started_at + timedelta(seconds=time.monotonic() - ended.began)).isoformat(),
            profile=profile,
            cell=convert(cell.names(), CellNames),
            parameters=dict(cell.parameters),
            command=cell.implementation.command,
            work=work_of(cell, reference_seed=planned.reference.cell.seed, core=prepared.core),
            determinism=cell.implementation.determinism,
            execution=prepared.launch.execution,
            image=prepared.image,
            software=dict(prepared.software),
            machine=convert(machine, Machine),
            launch=_launch(ended, executor),
            inputs=ended.inputs_of(case),
            outputs=_kept_outputs(ended, case),
            measurement=convert(prepared.listener.measurement(case), Measurement | None),
            referee=_referee(prepared.listener, case, judgement.final_weights),
            episodes=judgement.episodes,
            expected_counts=expected_counts(cell.benchmark, cell.parameters),
            gate=convert(judgement.checks, tuple[GateCheck, ...], from_attributes=True),
            failure=None if judgement.failure is None else _failure(judgement.failure),
            content_sha256=UNSEALED,
        )
    )
    return _sound(record)


def _sound(record: Record) -> Record:
    """The record, or that of a failed cell: what no launch can have done is a failure of the program that says it.

    Raises:
        StoreError: without the program's word it contradicts itself still, so that nobody could read it.
    """
    found = audit(record)
    if not found:
        return record
    told = contradictions_in_words(found)
    failure = record.failure
    if failure is None or record.launch.exit_code == 0:
        failure = _failure(
            Failure(kind=FailureKind.MALFORMED_OUTPUT, detail=f"its figures cannot all be true: {told}")
        )
    refused = sealed(
        replace(record, measurement=None, referee=UNSET, episodes=None, gate=(), failure=failure)
    )
    if audit(refused):
        raise StoreError(
            what=f"the record of {record.benchmark} {record.case} {record.implementation} contradicts itself",
            why=told,
            fix="this is a fault of forge-bench: report it with these lines",
        )
    return refused


def _referee(
    listener: Reader | Dialogue, case: str, final_weights: FinalWeights | None
) -> RefereeFacts | UnsetType:
    if not isinstance(listener, Dialogue) or case not in listener.seen:
        return UNSET
    refereed = listener.seen[case]
    windows = tuple(
        WindowFacts(
            repetitions=len(each.repetitions),
            seconds=each.seconds,
            cpu_seconds=each.used.cpu_seconds,
            preemptions=each.used.preemptions,
            stolen_seconds=each.used.stolen_seconds,
            between_seconds=each.done.between_seconds,
        )
        for each in refereed.windows
    )
    return RefereeFacts(
        nonce=refereed.draw.nonce,
        asked=refereed.asked,
        windows=windows,
        void_windows=refereed.void_windows,
        channel_seconds=listener.channel_seconds,
        ready_seconds=listener.ready_seconds,
        vmhwm_bytes=refereed.peak_bytes,
        audit=UNSET if refereed.audit is None else _audit(refereed.audit, listener.cases[case].claims),
        final_weights=UNSET if final_weights is None else final_weights,
    )


def _audit(audit: Audit, claims: Claims) -> AuditFacts:
    window = audit.window
    return AuditFacts(
        seed=audit.seed,
        seconds=window.seconds,
        timed_seconds=claims.seconds(window.done),
        between_seconds=window.done.between_seconds,
    )


def _launch(ended: EndedLaunch, executor: str) -> LaunchFacts:
    prepared, result = ended.prepared, ended.result
    return LaunchFacts(
        id=prepared.name,
        cases=tuple(prepared.cases),
        executor=executor,
        started_at=ended.started_at.isoformat(),
        wall_seconds=result.wall_seconds,
        deadline_seconds=prepared.launch.deadline_seconds,
        limits=_limits(result.limits),
        exit_code=result.exit_code,
        out_of_memory=result.out_of_memory,
        state=convert(ended.state, MachineState),
        state_after=convert(ended.state_after, MachineState),
        target_precision=prepared.launch.target_precision or UNSET,
        stderr_tail=result.stderr[-_KEPT_TAIL:],
    )


def _limits(applied: AppliedLimits) -> LimitsInForce:
    return LimitsInForce(
        cpuset=applied.cpuset,
        memory_bytes=applied.memory_bytes,
        pids=applied.pids,
        threads=applied.threads,
        enforced=applied.enforced,
        siblings=UNSET if applied.siblings is None else applied.siblings,
    )


def _failure(failure: Failure) -> CellFailure:
    return CellFailure(kind=failure.kind.value, detail=without_host(failure.detail))


def _kept_outputs(ended: EndedLaunch, case: str) -> dict[str, str]:
    """The hashes of a case's output files, without those of an audit."""
    listener = ended.prepared.listener
    refereed = listener.seen.get(case) if isinstance(listener, Dialogue) else None
    audited = {str(each) for each in refereed.audited} if refereed else set()
    found = ended.outputs_of(case)
    return {name: value for name, value in found.items() if name.partition("/")[0] not in audited}
