"""The results of a training's parity updates: how far each part of an update is from the reference's.

The records hold them as checks of the gate. The parts are the loss, the gradients, and the parameters after the first
update and after many. For each part the table shows the tensor that comes nearest to its bound, over all seeds.
"""

from collections.abc import Iterator

from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING, significant

# A check is named "FILE TENSOR", and a tensor's name begins with its part.
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
    """The largest share of a bound that a tensor uses, and the tensor's name."""
    mine = [(share, tensor) for share, tensor in _compared(row) if _PARTS[part](tensor)]
    if not mine:
        return NOTHING
    share, tensor = max(mine)
    return f"{significant(100 * share)} % of the bound ({tensor})"


def _compared(row: Row) -> Iterator[tuple[float, str]]:
    """The share and the tensor of every check that compared a tensor with the reference's."""
    if row.implementation.reference:
        return
    for record in row.passed:
        for check in record.gate:
            file, _, tensor = check.check.partition(" ")
            if check.share is not None and file.endswith(".safetensors") and tensor:
                yield float(check.share), tensor
