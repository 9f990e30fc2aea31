"""The work of a record: all that is needed to run its cell again without its matrix."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from runner.matrix import Determinism, Instructions, Kind
from runner.records.image import ImageFacts
from runner.records.part import (
    Amount,
    Bound,
    Command,
    FigureName,
    FileName,
    Name,
    Parameters,
    Part,
    Positive,
    PositiveBound,
    require_environments,
)

_PINS = ("suite", "rust", "python", "pytorch")


class WorkInputs(Part, frozen=True, kw_only=True):
    """The generator and all its cases. It is started once for all of them, with the data seed 42."""

    command: Command
    cases: Annotated[dict[Name, Parameters], Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Check that the gate can count the steps of each case."""
        for parameters in self.cases.values():
            require_environments(parameters)


class WorkOutput(Part, frozen=True, kw_only=True):
    """How one output file is compared with the reference's. ``drift`` and ``rms`` are absent where not judged."""

    file: FileName
    rtol: Bound
    atol: Bound
    scaled: Bound | None
    tensors: dict[str, Bound]
    drift: PositiveBound | UnsetType = UNSET
    rms: PositiveBound | UnsetType = UNSET


class WorkReplay(Part, frozen=True, kw_only=True):
    """The files that the referee plays again: the log of resets and actions, and the final weights."""

    actions: FileName
    weights: FileName


class WorkGate(Part, frozen=True, kw_only=True):
    """The checks that the cell's outputs must pass.

    ``digest`` names the files that a referee's digest covers, and the patterns of their tensors; absent where it covers
    all outputs. ``replay`` is what the referee plays again of a training; absent where it plays nothing.
    """

    outputs: Annotated[tuple[WorkOutput, ...], Meta(min_length=1)]
    episodes: FileName | None
    digest: dict[FileName, str] | UnsetType = UNSET
    replay: WorkReplay | UnsetType = UNSET


class WorkReference(Part, frozen=True, kw_only=True):
    """The reference's cell: the gate compared with the outputs of this implementation at this case and seed.

    ``platform`` is where it ran natively, for an emulated record that it judged; absent where both ran on one platform.
    """

    implementation: Name
    command: Command
    determinism: Determinism
    seed: Amount
    platform: Name | UnsetType = UNSET


class WorkLimits(Part, frozen=True, kw_only=True):
    """The requested limits.

    ``instructions`` are the best instructions of the launch; absent where the processor decided.
    """

    cpus: Positive
    memory_bytes: Positive
    pids: Positive
    threads: Positive
    instructions: Instructions | UnsetType = UNSET


class WorkFacts(Part, frozen=True, kw_only=True):
    """All that is needed to run the cell again without its matrix.

    Attributes:
        kind: Operation or training.
        headline: The metric that tables rank by.
        inputs: How the input files are made.
        counts: Expected counts, as arithmetic over the parameters.
        gate: What the outputs must pass.
        reference: The reference's cell, whose outputs the gate compared with.
        toolchain: The pins, as the matrix stated them.
        limits: The requested limits; launch.limits holds the limits in force.
        target: The image that the implementation asks for; the record's image is the one that it ran in.
        core: The image that made the inputs, and ran the reference if that is of this platform.
        versions: The command that prints the versions inside a competitor's image; absent where there is none,
            and for our own images.
        refereed: A referee led the launch; absent where none did.
        differs: How the work differs from the reference's; absent where the work is the same.
    """

    kind: Kind
    headline: FigureName
    inputs: WorkInputs
    counts: dict[str, str]
    gate: WorkGate
    reference: WorkReference
    toolchain: Annotated[dict[str, str | None], Meta(extra_json_schema={"required": list(_PINS)})]
    limits: WorkLimits
    target: Name
    core: ImageFacts
    versions: Command | UnsetType = UNSET
    refereed: Literal[True] | UnsetType = UNSET
    differs: Annotated[tuple[str, ...], Meta(min_length=1)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Check that every pin is present."""
        for pin in _PINS:
            if pin not in self.toolchain:
                raise ValueError(f"toolchain lacks {pin}")
