"""The types of a plan: cells with their decisions, the launches that they share, and the whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import Cell
from runner.records.execution import Execution
from runner.records.record import Record, content_hash
from runner.referee.nonce import Handed

ImageKey = tuple[str, str, str]


class Decision(Enum):
    """Whether a cell runs, is reused or is left out."""

    RUN = "run"
    REUSE = "reuse"
    LEAVE_OUT = "leave out"


@dataclass(frozen=True, kw_only=True)
class KeyedCell:
    """A cell and its content key, made by the rules of ``key_version``."""

    cell: Cell
    key: str
    key_version: int


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell, its content key, and the decision with its reason.

    ``reference`` is the cell whose outputs the gate compares with; a reference may be its own. ``record`` is the
    identifier of the record that is reused, has failed, or is compared with in ``why``. ``handed`` is what an earlier
    run's referee drew for it.
    """

    cell: Cell
    key: str
    key_version: int
    reference: KeyedCell
    decision: Decision
    why: str
    record: str | None = None
    handed: Handed | None = None

    @property
    def kept_as(self) -> str:
        """The name under which the store keeps the outputs that it is compared with: those of one nonce, if any."""
        return (
            self.reference.key
            if self.handed is None
            else content_hash([self.reference.key, self.handed.nonce])
        )

    @property
    def is_compared_with(self) -> bool:
        """Whether gates compare with the outputs of this exact cell."""
        return self.key == self.reference.key


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One process in one container: all cases of an operation, or one training.

    ``target_precision`` is the precision that decides how many such launches there are; None where their number was
    fixed before.
    """

    cells: tuple[PlannedCell, ...]
    execution: Execution
    deadline_seconds: float
    target_precision: float | None = None

    @property
    def first(self) -> Cell:
        """One cell of the launch; its cells differ only in the case."""
        return self.cells[0].cell

    def __str__(self) -> str:
        cell = self.first
        return f"{cell.benchmark.name} {cell.implementation.name} {cell.place} seed {cell.seed}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All selected cells with their decisions, and the launches in their order.

    ``executions`` and ``machines`` go by a platform's name, and ``execution_hashes`` by an image's target, toolchain and
    platform. ``away`` holds the platforms whose machines cannot be reached, each with the reason.
    ``records`` are the store's records at the time of planning, oldest first.
    """

    profile: str
    cells: tuple[PlannedCell, ...]
    launches: tuple[Launch, ...]
    executions: Mapping[str, Execution]
    machines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    away: Mapping[str, str] = field(default_factory=dict)
    execution_hashes: Mapping[ImageKey, str] = field(default_factory=dict)
    records: tuple[Record, ...] = ()

    def keys(self) -> frozenset[str]:
        """The content keys of all cells that are not left out."""
        return frozenset(each.key for each in self.cells if each.decision is not Decision.LEAVE_OUT)

    def images(self) -> tuple[tuple[ImageTarget, Cell], ...]:
        """The image targets that the cells need, each with a cell that names its toolchain and platform."""
        needed: dict[ImageKey, tuple[ImageTarget, Cell]] = {}
        for each in self.cells:
            if each.decision is not Decision.LEAVE_OUT:
                cell = each.cell
                for target in (CORE, cell.implementation.image):
                    key = (target.name, cell.toolchain.name, cell.platform.name)
                    needed.setdefault(key, (target, cell))
        return tuple(needed.values())


def room_of(cell: Cell) -> tuple[str, str, str, str]:
    """The room of a cell: within it one reference serves all gates, and times are comparable.

    A reference that judges emulated cells alone has a room of its own: it forms no ratio with the cells of its platform.
    """
    benchmark = f"{cell.benchmark.name} judge" if cell.judges else cell.benchmark.name
    return (cell.toolchain.name, cell.limits.name, cell.platform.name, benchmark)


def by_machine(launches: Iterable[Launch]) -> dict[str, tuple[Launch, ...]]:
    """The queue of each machine, in the order of the launches. Queues run at the same time."""
    found: dict[str, list[Launch]] = {}
    for launch in launches:
        found.setdefault(launch.first.platform.machine, []).append(launch)
    return {name: tuple(queue) for name, queue in found.items()}
