"""What it takes to run a record's cell again without the matrix that it came from."""

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
    """The generator and all cases that it is started for, once, with the data seed 42."""

    command: Command
    cases: Annotated[dict[Name, Parameters], Meta(min_length=1)]

    def __post_init__(self) -> None:
        """See that the gate can count the steps of each case."""
        for parameters in self.cases.values():
            require_environments(parameters)


class WorkOutput(Part, frozen=True, kw_only=True):
    """How one output file is compared with the reference's. ``drift`` is absent where it is not judged."""

    file: FileName
    rtol: Bound
    atol: Bound
    scaled: Bound | None
    tensors: dict[str, Bound]
    drift: PositiveBound | UnsetType = UNSET


class WorkGate(Part, frozen=True, kw_only=True):
    """What the cell's outputs must pass."""

    outputs: Annotated[tuple[WorkOutput, ...], Meta(min_length=1)]
    episodes: FileName | None


class WorkReference(Part, frozen=True, kw_only=True):
    """The cell whose outputs the gate compared with: this case of this implementation at this seed."""

    implementation: Name
    command: Command
    determinism: Determinism
    seed: Amount


class WorkLimits(Part, frozen=True, kw_only=True):
    """What was asked for.

    ``instructions`` are the best that the launch computed with; absent where they were the processor's.
    """

    cpus: Positive
    memory_bytes: Positive
    pids: Positive
    threads: Positive
    instructions: Instructions | UnsetType = UNSET


class WorkFacts(Part, frozen=True, kw_only=True):
    """What it takes to run the cell again without the matrix that it came from.

    Attributes:
        kind: Operation or training.
        headline: The metric that tables rank by.
        inputs: How the input files are made.
        counts: Expected counts, as arithmetic over the parameters.
        gate: What the outputs must pass.
        reference: The cell that the gate compared with.
        toolchain: The pins, as the matrix had them.
        limits: What was asked for; launch.limits is what was in force.
        target: The image that the implementation asks for; image is the one that it ran in.
        core: The image that made the inputs and ran the reference.
        versions: How the versions inside an image of somebody else's are asked; absent where nothing says them, and
            for our own images.
        refereed: A referee led the launch; absent where none did.
        differs: What the implementation does another way than the reference; absent where the work is the same.
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
        """See that every pin is there."""
        for pin in _PINS:
            if pin not in self.toolchain:
                raise ValueError(f"toolchain lacks {pin}")
