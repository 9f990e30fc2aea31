"""The record: a measurement plus where it came from. The stored unit, never edited.

The type below is the one definition of a record. Reading and writing follow it. The text of
schemas/record.schema.json and the columns of an exported table follow it too.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from runner.matrix import Determinism, Kind
from runner.records.execution import Execution
from runner.records.image import ImageFacts
from runner.records.measured import CellFailure, Episode, Episodes, GateCheck, Measurement, Memory
from runner.records.part import (
    Amount,
    Command,
    DateTime,
    Hash,
    Name,
    Parameters,
    Part,
    Positive,
    require_environments,
)
from runner.records.place import LaunchFacts, Machine
from runner.records.refereed import RefereeFacts
from runner.records.work import WorkFacts
from runner.system.schema_rules import is_date_time

# 2 added the work and launch.cases, which let the cell run again without the matrix. 3 added key_version.
SCHEMA_VERSION: Final = 3
# The placeholder for the seal until it is known.
UNSEALED = ""
_UNKNOWN_MEMORY = Memory(vmhwm_bytes=None, cgroup_peak_bytes=None)


class CellNames(Part, frozen=True, kw_only=True):
    """The cell, by the names that the matrix had."""

    benchmark: Name
    case: Name
    implementation: Name
    toolchain: Name
    platform: Name
    limits: Name
    seed: Amount


class Record(Part, frozen=True, kw_only=True):
    """A measurement plus where it came from. ``content_sha256`` is over all other keys as canonical JSON.

    Attributes:
        schema: The version of this form; 1 is without work and launch.cases, 1 and 2 are without key_version.
        identifier: The name that the record is stored under: the launch's start, then the start of the content key.
        key: The content key: what was executed, with what, on what.
        key_version: The version of the rules that made the key; 1 where it is absent.
        created_at: When the record was sealed.
        profile: The profile of the run.
        cell: The cell, by the names that the matrix had.
        parameters: The case's own, with the profile's sizes.
        command: The implementation's, without what the runner adds.
        work: What it takes to run the cell again.
        determinism: What the implementation declares about its bytes.
        execution: Native, emulated or unknown.
        image: The image that the process ran in.
        software: Versions as the first launch of the image printed them.
        machine: The machine that the process ran on.
        launch: The process that served the cell.
        inputs: SHA-256 of each input file.
        outputs: SHA-256 of each output file.
        measurement: What the implementation printed; null where it printed none.
        referee: What the referee drew and saw; absent where none led the launch, or it did not get so far.
        episodes: The episodes that were played; null for operations.
        expected_counts: The counts that the runner worked out.
        gate: The checks that were made.
        failure: Why the cell failed; null where it passed.
        content_sha256: The seal.
    """

    schema: Literal[1, 2, 3]
    identifier: Annotated[str, Meta(pattern=r"^[0-9TZ]+-[0-9a-f]{16}\Z")] = field(name="id")
    key: Hash
    key_version: Positive | UnsetType = UNSET
    created_at: DateTime
    profile: Name
    cell: CellNames
    parameters: Parameters
    command: Command
    work: WorkFacts | UnsetType = UNSET
    determinism: Determinism
    execution: Execution
    image: ImageFacts
    software: dict[str, str | None]
    machine: Machine
    launch: LaunchFacts
    inputs: dict[str, Hash]
    outputs: dict[str, Hash]
    measurement: Measurement | None
    referee: RefereeFacts | UnsetType = UNSET
    episodes: Episodes | None
    expected_counts: dict[str, Amount]
    gate: tuple[GateCheck, ...]
    failure: CellFailure | None
    content_sha256: Hash

    def __post_init__(self) -> None:
        """Check the rules that a type cannot express."""
        if not is_date_time(self.created_at):
            raise ValueError("created_at is not a date and time with a zone")
        if self.schema > 1 and (self.work is UNSET or self.launch.cases is UNSET):
            raise ValueError(f"schema {self.schema} requires work and launch.cases")
        if (self.schema > 2) != (self.key_version is not UNSET):  # noqa: PLR2004 (see SCHEMA_VERSION)
            raise ValueError("key_version is required from schema 3 on, and unknown before")
        if self.failure is None and self.measurement is None:
            raise ValueError("it holds neither a failure nor a measurement")
        require_environments(self.parameters)

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return self.cell.benchmark

    @property
    def case(self) -> str:
        """The case's name."""
        return self.cell.case

    @property
    def implementation(self) -> str:
        """The implementation's name."""
        return self.cell.implementation

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self.cell.platform

    @property
    def seed(self) -> int:
        """The seed; for operations the process replicate."""
        return self.cell.seed

    @property
    def made_by_rules(self) -> int:
        """The version of the rules that made its key."""
        return self.key_version or 1

    @property
    def failed(self) -> bool:
        """Whether the cell failed, for any reason."""
        return self.failure is not None

    @property
    def is_timed(self) -> bool:
        """Whether it has times of the reference's work: the execution is native, and the gate passed."""
        return not self.failed and self.execution.ranked and not self.differs

    @property
    def ranked(self) -> bool:
        """Whether its times may be compared with others: the referee's window was long enough to judge its claims too."""
        return self.is_timed and self.judged

    @property
    def is_repeated(self) -> bool:
        """Whether its window had more than one repetition, where a referee led an operation."""
        is_operation = self.work and self.work.kind is Kind.OPERATION
        return not (self.referee and is_operation) or self.parameters.get("repetitions", 1) != 1

    @property
    def judged(self) -> bool:
        """Whether its claims were held against a window that says something; without a referee none were.

        A reference is bounded by nothing, so what lies between its timed repetitions decides nothing. Of an operation
        that is not repeated the gate judges no window: it shows that the work is right.
        """
        if not self.referee:
            return True
        if not self.is_repeated:
            return False
        bounded = not self.work or self.implementation != self.work.reference.implementation
        return self.referee.telling and (self.referee.mostly_timed or not bounded)

    @property
    def differs(self) -> tuple[str, ...]:
        """How its work differs from the reference's, in words."""
        return (self.work and self.work.differs) or ()

    @property
    def counts(self) -> Mapping[str, int]:
        """The counts that it printed; empty where it measured nothing."""
        return self.measurement.counts if self.measurement else {}

    @property
    def metrics(self) -> Mapping[str, float | tuple[float, ...]]:
        """Its values by metric: one for the launch, or one for each repetition; empty where it measured nothing."""
        return self.measurement.metrics if self.measurement else {}

    @property
    def waited_seconds(self) -> float | None:
        """From the start of a training's process to its result: imports, compiling and the training.

        A referee's clock says it, else the process itself; None where neither does.
        """
        if self.referee:
            return self.referee.ready_seconds + self.referee.windows[-1].seconds
        return next(iter(self.values("wall_seconds")), None)

    @property
    def memory(self) -> Memory:
        """The process's peak as a referee saw it from outside, else as it printed it; unknown where there is neither."""
        said = self.measurement.memory if self.measurement else _UNKNOWN_MEMORY
        seen = self.referee.vmhwm_bytes if self.referee else None
        return said if seen is None else msgspec.structs.replace(said, vmhwm_bytes=seen)

    @property
    def played(self) -> tuple[Episode, ...]:
        """Its episodes; none for operations."""
        return self.episodes or ()

    def values(self, metric: str) -> tuple[float, ...]:
        """All values of a metric, one per repetition, in the order taken; empty where the metric is absent."""
        value = self.metrics.get(metric, ())
        return value if isinstance(value, tuple) else (float(value),)


def record_of(data: Mapping[str, Any]) -> Record:
    """The record that plain JSON data is.

    Raises:
        ValueError: the data are not a record; the message says where.
    """
    return msgspec.convert(data, Record)


def sealed(record: Record) -> Record:
    """The record with the hash of its own content, which reveals an alteration."""
    return msgspec.structs.replace(record, content_sha256=content_hash(_unsealed(record.plain())))


def canonical_json(value: Any) -> bytes:
    """``value`` in the form that is hashed: sorted keys, no spaces, no NaN, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode()


def content_hash(value: Any) -> str:
    """SHA-256 over the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def seal(data: Mapping[str, Any]) -> dict[str, Any]:
    """``data`` with the hash of its own content added."""
    return {**data, "content_sha256": content_hash(dict(data))}


def is_intact(data: Mapping[str, Any]) -> bool:
    """Whether the record's content still matches its seal."""
    return data.get("content_sha256") == content_hash(_unsealed(data))


def _unsealed(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "content_sha256"}
