"""Which trusted programs read the outputs of a training, and what they said."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.executors.base import Examination
from runner.matrix import Replay
from runner.matrix.expressions import evaluate
from runner.planning.cells import Cell
from runner.referee.dialogue import Dialogue, Refereed

if TYPE_CHECKING:
    from runner.gate import Examined

# No training has this seed: its episodes are kept for the final weights.
_RESERVED_SEED = 2_000_000_011
_EPISODES_WITH_WEIGHTS = 100
_EPISODES_IN_GYMNASIUM = 5


@dataclass(frozen=True, kw_only=True)
class Examiner:
    """Has the log of a training played again, in our environments and, of an audited launch, in Gymnasium's.

    Attributes:
        cell: the training.
        replay: the files that are read.
        listener: the referee, which knows what was asked for.
        ranked: whether times are ranked here: only there the final weights are played.
    """

    cell: Cell
    replay: Replay
    listener: Dialogue
    ranked: bool

    def commands(self, outputs: str) -> Sequence[tuple[str, ...]]:
        """The commands that read the outputs below a folder; none where the referee did not get so far."""
        seen = self._seen
        if seen is None:
            return ()
        ranked = [*self._replayed(outputs, seen.asked[-1]), *self._with_weights(outputs, seen)]
        if seen.audit is None:
            return (tuple(ranked),)
        number = seen.audit.window.repetitions.start
        drawn = ["python3", "-m", "baselines.benchmarks.replay", *self._log(outputs, number)]
        drawn += ["--episodes", str(_EPISODES_IN_GYMNASIUM), "--seed", str(seen.audit.seed)]
        return (tuple(ranked), tuple(self._replayed(outputs, number)), tuple(drawn))

    def said(self, examined: Sequence[Examination]) -> "Examined | None":
        """What the commands said; None where there was no program to examine anything."""
        # As in `launch`: only where there is a cell to judge.
        from runner.gate import Examined  # noqa: PLC0415

        if not examined or examined[0].exit_code is None:
            return None
        replay, *audited = examined
        audit, gymnasium = audited or (None, None)
        weights_seed = _RESERVED_SEED if self.ranked else None
        return Examined(replay=replay, weights_seed=weights_seed, audit=audit, gymnasium=gymnasium)

    @property
    def _seen(self) -> Refereed | None:
        return self.listener.seen.get(self.cell.case.name)

    def _file(self, outputs: str, repetition: int, name: str) -> str:
        return f"{outputs}/{self.cell.case.name}/{repetition}/{name}"

    def _log(self, outputs: str, repetition: int) -> list[str]:
        actions = self._file(outputs, repetition, self.replay.actions)
        return ["--environment", str(self.cell.parameters["environment"]), "--actions", actions]

    def _replayed(self, outputs: str, repetition: int) -> list[str]:
        steps = evaluate(self.cell.benchmark.counts["environment_steps"], self.cell.parameters)
        return ["torchforge", "replay", *self._log(outputs, repetition), "--most-steps", str(steps)]

    def _with_weights(self, outputs: str, seen: Refereed) -> list[str]:
        # The networks of other work may be others, and emulated episodes would take minutes.
        if not self.ranked or self.cell.implementation.differs:
            return []
        weights = self._file(outputs, seen.asked[-1], self.replay.weights)
        episodes = ["--episodes", str(_EPISODES_WITH_WEIGHTS), "--seed", str(_RESERVED_SEED)]
        hidden = self.cell.parameters.get("hidden")
        # Networks of other widths are no result of this case.
        widths = [] if hidden is None else ["--hidden", f"{hidden},{hidden}"]
        return ["--weights", weights, *episodes, *widths]


def examiner_of(cell: Cell, listener: object, *, ranked: bool) -> Examiner | None:
    """The examiner of a launch; None where nothing is played again."""
    replay = cell.benchmark.gate.replay
    if replay is None or not isinstance(listener, Dialogue):
        return None
    return Examiner(cell=cell, replay=replay, listener=listener, ranked=ranked)
