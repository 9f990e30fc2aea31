"""Where and how a record's process ran: the machine, the machine's state, the limits, the launch."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from runner.records.part import Amount, DateTime, Figure, Name, Part, PositiveFigure
from runner.system.schema_rules import is_date_time


class Machine(Part, frozen=True, kw_only=True):
    """The description of the machine; null where unknown."""

    cpu_model: str | UnsetType | None = UNSET
    architecture: str | UnsetType | None = UNSET
    logical_cpus: Amount | UnsetType | None = UNSET
    physical_cores: Amount | UnsetType | None = UNSET
    memory_bytes: Amount | UnsetType | None = UNSET
    swap_bytes: Amount | UnsetType | None = UNSET
    os: str | UnsetType | None = UNSET
    kernel: str | UnsetType | None = UNSET
    daemon: Annotated[
        str | UnsetType | None,
        Meta(description="For a machine that the runner cannot inspect: a hash of its daemon's identifier."),
    ] = UNSET
    hypervisor: bool | UnsetType | None = UNSET
    governor: str | UnsetType | None = UNSET
    turbo: bool | UnsetType | None = UNSET
    smt: bool | UnsetType | None = UNSET
    simd: tuple[str, ...] | UnsetType | None = UNSET
    caches: Annotated[
        dict[str, str] | UnsetType | None,
        Meta(
            description="The size of each cache; several where cores differ. In older records of the first CPU."
        ),
    ] = UNSET


class MachineState(Part, frozen=True, kw_only=True):
    """The state of the machine at one moment; null where unknown, and absent in older records.

    ``throttle_count``, ``quota_throttle_count``, ``stolen_seconds`` and ``swapped_pages`` count since the start of the
    system. The first was that of one processor in older records, and is the sum of all now.
    """

    load_1m: Figure | UnsetType | None = UNSET
    memory_available_bytes: Amount | UnsetType | None = UNSET
    swap_used_bytes: Amount | UnsetType | None = UNSET
    cpu_pressure_avg10: Figure | UnsetType | None = UNSET
    throttle_count: Amount | UnsetType | None = UNSET
    cpu_mhz: Figure | UnsetType | None = UNSET
    throttled: Annotated[
        Amount | UnsetType | None,
        Meta(
            description="The bits of a Raspberry Pi's get_throttled: 1 to 8 hold now, the others held since its start."
        ),
    ] = UNSET
    celsius: Annotated[
        Figure | UnsetType | None,
        Meta(description="Of the hottest thermal zone. In older records of the first one."),
    ] = UNSET
    governor: str | UnsetType | None = UNSET
    turbo: bool | UnsetType | None = UNSET
    memory_pressure_avg10: Figure | UnsetType | None = UNSET
    io_pressure_avg10: Figure | UnsetType | None = UNSET
    quota_throttle_count: Amount | UnsetType | None = UNSET
    stolen_seconds: Figure | UnsetType | None = UNSET
    swapped_pages: Amount | UnsetType | None = UNSET
    busy_processors: Annotated[
        Figure | UnsetType | None,
        Meta(
            description="How many processors were busy in a tenth of a second in which nothing of the runner worked."
        ),
    ] = UNSET


class LimitsInForce(Part, frozen=True, kw_only=True):
    """The limits of the launch. ``enforced`` names those that the executor could enforce."""

    cpuset: str | None
    memory_bytes: Amount
    pids: Amount
    threads: Amount
    enforced: tuple[str, ...]
    siblings: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[0-9]{1,9}(,[0-9]{1,9})+\Z")], ...] | UnsetType,
        Meta(
            description="CPUs of the set that share a core: a text for each such core (2,6). Absent if unknown."
        ),
    ] = UNSET


class LaunchFacts(Part, frozen=True, kw_only=True):
    """The process that served the cell. Schema 1 does not hold the order of its ``cases``.

    ``state`` is the machine's just before the launch, ``state_after`` just after it; older records lack the second.
    ``target_precision`` is the precision that decided how many such launches there were; absent where that was fixed.
    """

    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9=._-]{0,195}\Z")]
    cases: Annotated[tuple[Name, ...], Meta(min_length=1)] | UnsetType = UNSET
    executor: Annotated[str, Meta(pattern=r"^(docker|local)\Z")]
    started_at: DateTime
    wall_seconds: Figure
    deadline_seconds: PositiveFigure
    limits: LimitsInForce
    exit_code: int | None
    out_of_memory: bool
    state: MachineState
    state_after: MachineState | UnsetType = UNSET
    target_precision: PositiveFigure | UnsetType = UNSET
    stderr_tail: str

    def __post_init__(self) -> None:
        """Check that ``started_at`` is a time."""
        if not is_date_time(self.started_at):
            raise ValueError("started_at is no date and time with a zone")
