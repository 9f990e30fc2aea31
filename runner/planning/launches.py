"""The launches of a plan, in an order that treats all implementations alike."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from runner.matrix import Kind
from runner.planning.cells import Cell
from runner.planning.planned import Decision, Launch, PlannedCell, room_of
from runner.records.execution import Execution


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
    for room, group in groupby(planned, key=lambda each: room_of(each.cell)):
        launches: dict[tuple[int, str, str], list[PlannedCell]] = {}
        for each in group:
            if each.decision is Decision.RUN:
                # Each training is one launch; the cases of an operation share a launch.
                case = each.cell.case.name if each.cell.benchmark.kind is Kind.TRAINING else ""
                launches.setdefault((each.cell.seed, each.cell.implementation.name, case), []).append(each)
        order = list(launches.values())
        random.Random(" ".join(room)).shuffle(order)  # noqa: S311 (an order, not a secret)
        seeds = list(dict.fromkeys(each.cell.seed for each in planned if room_of(each.cell) == room))
        first_keys = {each[0].reference.key for each in order}
        order.sort(key=lambda each: (each[0].key not in first_keys, seeds.index(each[0].cell.seed)))
        for cells in order:
            yield Launch(
                cells=tuple(cells),
                execution=executions[cells[0].cell.platform.name],
                deadline_seconds=deadline_seconds(cells[0].cell),
            )
