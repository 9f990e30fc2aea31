"""What the parity updates of a training came out at: how far each part of an update is from the reference's.

The gate's own checks, as the records hold them. Of each part (loss, gradients, parameters after the first update, and
after many) the tensor that comes nearest to its bound speaks for all, over all seeds.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING, significant

# A check is called "FILE TENSOR"; a tensor's name begins with what it is.
_PARTS = {
    "loss": lambda tensor: tensor.endswith("loss"),
    "gradients": lambda tensor: tensor.startswith("gradient."),
    "parameters after one update": lambda tensor: tensor.startswith("parameter."),
    "parameters after many updates": lambda tensor: tensor.startswith("after."),
}


def parity_table(room: Room) -> Table | None:
    """A row for each implementation whose updates were compared; None where none were."""
    rows = tuple(
        (row.case.name, row.implementation.name, *(_nearest(row, part) for part in _PARTS))
        for row in room.rows
        if any(_compared(row))
    )
    return Table(headers=("case", "implementation", *_PARTS), rows=rows) if rows else None


def _nearest(row: Row, part: str) -> str:
    """How much of its bound the nearest tensor has used up, and which that is."""
    mine = [(share, tensor) for share, tensor in _compared(row) if _PARTS[part](tensor)]
    if not mine:
        return NOTHING
    share, tensor = max(mine)
    return f"{significant(100 * share)} % of the bound ({tensor})"


def _compared(row: Row) -> Iterator[tuple[float, str]]:
    """Share of the bound and tensor, of every check that compared one with the reference's."""
    if row.implementation.reference:
        return
    for record in row.passed:
        checks: list[Mapping[str, Any]] = record.data["gate"]
        for check in checks:
            file, _, tensor = str(check["check"]).partition(" ")
            if check["share"] is not None and file.endswith(".safetensors") and tensor:
                yield float(check["share"]), tensor
