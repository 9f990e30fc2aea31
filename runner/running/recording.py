"""From a launch that has ended to the sealed records of its cells."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runner.planning.plan import PlannedCell
from runner.planning.recipe import work_of
from runner.records.failure import Failure
from runner.records.record import SCHEMA_VERSION, seal
from runner.running.stages import EndedLaunch
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
) -> dict[str, Any]:
    """The record of one cell of a launch.

    Args:
        planned: the cell.
        ended: its launch.
        judgement: what the gate says of the cell.
        profile: the profile that is run.
        executor: the name of what ran it.
        machine: the machine that it ran on.
    """
    # The gate's libraries are read when there is something to judge: a call that reuses everything has nothing.
    from runner.gate import expected_counts  # noqa: PLC0415

    cell, prepared = planned.cell, ended.prepared
    case, execution = cell.case.name, prepared.launch.execution
    return seal(
        {
            "schema": SCHEMA_VERSION,
            "id": f"{ended.started_at:%Y%m%dT%H%M%S%fZ}-{planned.key[:16]}",
            "key": planned.key,
            "created_at": datetime.now(UTC).isoformat(),
            "profile": profile,
            "cell": cell.names(),
            "parameters": dict(cell.parameters),
            "command": list(cell.implementation.command),
            "work": work_of(cell, reference_seed=planned.reference.cell.seed, core=prepared.core),
            "determinism": cell.implementation.determinism.value,
            "execution": {"kind": execution.kind.value, "emulator": execution.emulator},
            "image": asdict(prepared.image),
            "software": dict(prepared.software),
            "machine": machine,
            "launch": _launch(ended, executor),
            "inputs": _below(ended.input_hashes, case),
            "outputs": _below(ended.output_hashes, case),
            "measurement": prepared.reader.measurements.get(case),
            "episodes": None if judgement.episodes is None else list(judgement.episodes),
            "expected_counts": expected_counts(cell.benchmark, cell.parameters),
            "gate": [asdict(check) for check in judgement.checks],
            "failure": None if judgement.failure is None else _failure(judgement.failure),
        }
    )


def _launch(ended: EndedLaunch, executor: str) -> dict[str, Any]:
    prepared, result = ended.prepared, ended.result
    return {
        "id": prepared.name,
        "cases": list(prepared.cases),
        "executor": executor,
        "started_at": ended.started_at.isoformat(),
        "wall_seconds": result.wall_seconds,
        "deadline_seconds": prepared.launch.deadline_seconds,
        "limits": asdict(result.limits) | {"enforced": list(result.limits.enforced)},
        "exit_code": result.exit_code,
        "out_of_memory": result.out_of_memory,
        "state": ended.state,
        "stderr_tail": result.stderr[-_KEPT_TAIL:],
    }


def _failure(failure: Failure) -> dict[str, str]:
    return {"kind": failure.kind.value, "detail": without_host(failure.detail)}


def _below(hashes: Mapping[str, str], case: str) -> dict[str, str]:
    """The hashes of one case's files, by their names."""
    return {
        name.removeprefix(f"{case}/"): value for name, value in hashes.items() if name.startswith(f"{case}/")
    }
