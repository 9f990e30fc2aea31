"""What the gate gets of the referee."""

from dataclasses import dataclass

from runner.referee.dialogue import Refereed


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """What the referee saw of a cell.

    Attributes:
        refereed: its windows, and what was asked for.
        channel_seconds: the slowest round trip of the launch's channel.
        between_seconds: what the reference claims a repetition to cost beside its timed part; None for the reference.
    """

    refereed: Refereed
    channel_seconds: float
    between_seconds: float | None
