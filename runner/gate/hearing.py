"""What the gate gets of the referee."""

from dataclasses import dataclass

from runner.executors.base import Examination
from runner.referee.dialogue import Refereed


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What trusted programs said of a training's log.

    Attributes:
        replay: of the ranked training, and of its final weights.
        weights_seed: of the episodes with the final weights; None where none were played.
        audit: of the training with an unknown seed; None where there was none.
        gymnasium: of that training's episodes that were drawn for Gymnasium's own environment.
    """

    replay: Examination
    weights_seed: int | None
    audit: Examination | None
    gymnasium: Examination | None


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """What the referee saw of a cell.

    Attributes:
        refereed: its windows, and what was asked for.
        channel_seconds: the slowest round trip of the launch's channel.
        between_seconds: what the reference claims a repetition to cost beside its timed part; None for the reference.
        seed: that the cell has.
        examined: what was made of a training's log; None where nothing was.
    """

    refereed: Refereed
    channel_seconds: float
    between_seconds: float | None
    seed: int = 0
    examined: Examined | None = None
