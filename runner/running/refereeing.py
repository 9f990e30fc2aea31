"""The referee of a planned launch: what is drawn for each case, and what is kept of it beside the reference's outputs.

A competitor gets what its reference got. So a nonce lies beside the outputs that a gate compares with.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.matrix import Kind
from runner.planning.cells import Cell
from runner.planning.planned import Launch, PlannedCell
from runner.records import references
from runner.records.store import Store
from runner.referee.claims import Claims
from runner.referee.dialogue import Assignment, Dialogue, Refereed, Reference
from runner.referee.nonce import Draw, audit_seed, draw
from runner.referee.sizes import Plan
from runner.system.bounded_reading import read_bounded
from runner.system.files import write_atomically

_LARGEST = 2**22


@dataclass(frozen=True, kw_only=True)
class KeptDraw:
    """What was drawn for a reference, and what its competitors' referee has to know of it.

    ``inputs`` are the hashes of its input files; None in a folder that an earlier version kept.
    """

    draw: Draw
    reference: Reference
    inputs: Mapping[str, str] | None


def dialogue_of(
    launch: Launch, *, store: Store, secret: bytes, on_progress: Callable[[float], None]
) -> Dialogue:
    """A referee for a launch, its cases in the order in which they stand there.

    Args:
        launch: as planned.
        store: where the outputs of references are kept.
        secret: the plan's, for what nothing is kept of yet.
        on_progress: gets the share of the work that is done.
    """
    return Dialogue(
        cases={
            each.cell.case.name: _assignment(each, store, secret, ranked=launch.execution.ranked)
            for each in launch.cells
        },
        on_progress=on_progress,
    )


def _assignment(planned: PlannedCell, store: Store, secret: bytes, *, ranked: bool) -> Assignment:
    # What gates compare with is drawn anew each time it runs; what is kept beside it is for its competitors.
    kept, cell = None if planned.is_compared_with else _kept_draw(planned, store), planned.cell
    new = draw(secret, benchmark=cell.benchmark.name, case=cell.case.name, seed=planned.reference.cell.seed)
    drawn = kept.draw if kept else new
    if planned.handed is not None:
        drawn = Draw(nonce=planned.handed.nonce, asked=drawn.asked, handed=planned.handed.repetitions)
    training = cell.benchmark.kind is Kind.TRAINING
    return Assignment(
        draw=drawn,
        plan=Plan.of(cell.parameters, training=training),
        claims=Claims.of(cell.benchmark.headline, cell.parameters),
        reference=None if planned.is_compared_with else _known_of_reference(cell, kept),
        seed=cell.seed if training else None,
        audit_seed=_audit_seed(planned, secret) if training and ranked else None,
    )


def _audit_seed(planned: PlannedCell, secret: bytes) -> int | None:
    """One launch of each implementation in a room is audited, where its times are ranked; no run for `verify` is."""
    cell = planned.cell
    if planned.handed is not None or cell.seed != planned.reference.cell.seed:
        return None
    return audit_seed(secret, benchmark=cell.benchmark.name, case=cell.case.name)


def _known_of_reference(cell: Cell, kept: KeptDraw | None) -> Reference:
    """What is kept of the reference.

    At its other seeds it is not bounded by itself: it hides nothing from itself. A native reference bounds no time of
    an emulated launch.
    """
    known = kept.reference if kept else Reference()
    unbounded = cell.implementation.reference or cell.reference_platform is not None
    return replace(known, between_seconds=None) if unbounded else known


def _kept_draw(planned: PlannedCell, store: Store) -> KeptDraw | None:
    """What is kept beside the outputs that this cell is compared with; None where there is none."""
    folder = references.usable(store, planned.kept_as)
    if folder is None:
        return None
    try:
        found: Any = json.loads(read_bounded(folder / references.DRAW, _LARGEST))
        inputs = found.get("inputs")
        return KeptDraw(
            inputs=None if inputs is None else {str(name): str(each) for name, each in inputs.items()},
            draw=Draw(nonce=str(found["nonce"]), asked=tuple(map(float, found["asked"]))),
            reference=Reference(
                between_seconds=float(found["between_seconds"]),
                most_repetitions=int(found["most_repetitions"]),
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_judged_by_another_run(planned: PlannedCell, dialogue: Dialogue, store: Store) -> bool:
    """Whether another run measured the reference anew while a launch waited or ran: its outputs are of other inputs."""
    kept = _kept_draw(planned, store)
    return kept is not None and kept.draw.nonce != dialogue.cases[planned.cell.case.name].draw.nonce


def works_on_other_inputs(planned: PlannedCell, inputs: Mapping[str, str], store: Store) -> bool:
    """Whether a cell had other input files than the reference of another platform that judges it."""
    if planned.cell.reference_platform is None:
        return False
    kept = _kept_draw(planned, store)
    return kept is None or kept.inputs != inputs


def keep_draw(refereed: Refereed, outputs: Path, inputs: Mapping[str, str]) -> None:
    """Write into a reference's outputs what was drawn for it, and the hashes of its inputs."""
    ranked = refereed.ranked
    facts = {
        "inputs": dict(inputs),
        "nonce": refereed.draw.nonce,
        "asked": refereed.draw.asked,
        "between_seconds": ranked.done.between_seconds / len(ranked.repetitions),
        "most_repetitions": refereed.most_repetitions,
    }
    write_atomically(outputs / references.DRAW, json.dumps(facts) + "\n")
