"""Rooms are measured whole, so that a ratio is of one run (docs/decisions/equal-start.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from runner.planning.cells import Cell
from runner.planning.planned import Decision, PlannedCell, room_of
from runner.records.execution import Execution
from runner.records.ledger.interrupted import Interrupted
from runner.records.record import Record


def measure_together(
    planned: Sequence[PlannedCell],
    executions: Mapping[str, Execution],
    known: Mapping[str, Record],
    interrupted: Interrupted,
) -> list[PlannedCell]:
    """Run a room again whole where a cell of it is new, its reference runs, or its records are of two runs.

    Without this a ratio would compare two days, and a competitor would get inputs whose nonce is known already. An
    interrupted run goes on: what it measured counts, and what it was to measure beside that is measured. Rooms without a
    referee, and those whose times are not ranked, stay as they are.
    """
    result: list[PlannedCell] = []
    for _, group in groupby(planned, key=lambda each: room_of(each.cell)):
        members = list(group)
        if is_measured_together(members[0].cell, executions):
            members = _of_one_run(_beside_new(_going_on(members, interrupted), known, interrupted), known)
        result += members
    return result


def is_measured_together(cell: Cell, executions: Mapping[str, Execution]) -> bool:
    """Whether ratios of a cell's room are formed, and a nonce tells which run they are of."""
    return cell.benchmark.refereed and executions[cell.platform.name].ranked and not cell.judges


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


def _of_one_run(room: Sequence[PlannedCell], known: Mapping[str, Record]) -> list[PlannedCell]:
    """Run all of a room whose records are of two runs: a run was stopped in it, or measured a part of it anew."""
    drawn: dict[tuple[str, int], str] = {}
    for each in room:
        record = known.get(each.key) if each.decision is Decision.REUSE else None
        if record is None or not record.referee or record.differs:
            continue
        nonce = record.referee.nonce
        if drawn.setdefault((record.case, record.seed), nonce) != nonce:
            why = f"{record.case} seed {record.seed} has records of two runs, which form no ratio"
            return [_run_again(other, why) for other in room]
    return list(room)


def _run_again(planned: PlannedCell, why: str) -> PlannedCell:
    if planned.decision is not Decision.REUSE:
        return planned
    return replace(planned, decision=Decision.RUN, why=why)
