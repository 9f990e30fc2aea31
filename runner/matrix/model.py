"""The types that a valid matrix becomes. Nothing here reads a file or checks anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain

Parameters = Mapping[str, Any]
T = TypeVar("T")


class Kind(Enum):
    """What sort of work a benchmark is."""

    OPERATION = "operation"
    TRAINING = "training"


class Decision(Enum):
    """What a benchmark's page decides, beside its figures."""

    CROSSING = "crossing"
    """How many environments a call from Python to Rust is to step, and what staying in Rust saves."""
    BACKEND = "backend"
    """Which library is to compute the networks."""


class Determinism(Enum):
    """What an implementation declares about the bytes that it computes."""

    PORTABLE = "portable"
    MACHINE = "machine"
    NONE = "none"


class Side(Enum):
    """Whose implementation it is."""

    OURS = "ours"
    """Our implementation as its users call it. A headline compares the best of these with the reference's side."""
    KERNEL = "kernel"
    """Our code without the crossing from Python that its users pay: compared, and never the headline."""
    REFERENCE = "reference"
    """The reference and its variants."""
    PEER = "peer"
    """Every other implementation. The fastest competitor is one of these or on the reference's side."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """An architecture plus where it runs (so far: this machine's Docker)."""

    name: str
    architecture: str


class Instructions(Enum):
    """The best instructions that a launch may compute with."""

    AVX2 = "avx2"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one launch may use. ``memory_bytes`` is also the limit of memory plus swap.

    ``instructions`` are the best that it computes with (None: the processor's).
    """

    name: str
    cpus: int
    memory_bytes: int
    pids: int
    threads: int
    instructions: Instructions | None = None

    def facts(self) -> dict[str, Any]:
        """What decides a figure, as content keys and records hold it. What does not limit is left out."""
        facts = {"cpus": self.cpus, "memory_bytes": self.memory_bytes}
        return {**facts, "pids": self.pids, "threads": self.threads} | (
            {} if self.instructions is None else {"instructions": self.instructions.value}
        )


@dataclass(frozen=True, kw_only=True)
class ByExecution(Generic[T]):
    """A value that is smaller where execution is emulated."""

    native: T
    emulated: T

    def of(self, *, emulated: bool) -> T:
        """The value for this kind of execution."""
        return self.emulated if emulated else self.native


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How much is run. ``minutes`` is what the author of the matrix expects on two cores."""

    name: str
    minutes: float
    seeds: ByExecution[tuple[int, ...]]
    deadline_seconds: ByExecution[float]


@dataclass(frozen=True, kw_only=True)
class OutputCheck:
    """How one output file is compared with the reference's.

    Either element by element, ``|x - r| <= atol + rtol * |r|``, or ``scaled``: per tensor, the largest difference
    over the largest magnitude of the reference, with bounds of its own for tensors whose names match a pattern of
    ``tensors``. With ``drift``, tensors ``after.NAME`` are left out of that: the largest such figure of all of them
    is at most so many times that of the reference's ``after.NAME`` against its ``exact.NAME``.

    ``depends_on`` names the parameters of a profile that the file's bytes depend on.
    """

    file: str
    rtol: float
    atol: float
    scaled: float | None
    tensors: Mapping[str, float]
    drift: float | None = None
    depends_on: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """What decides a verdict. A rule that is not used is left out: it may be younger than a record's key."""
        facts = {"file": self.file, "rtol": self.rtol, "atol": self.atol, "scaled": self.scaled}
        return {**facts, "tensors": dict(self.tensors)} | (
            {} if self.drift is None else {"drift": self.drift}
        )


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What an implementation passes before its timings count."""

    outputs: tuple[OutputCheck, ...]
    episodes: str | None

    def facts(self) -> dict[str, Any]:
        """What decides a verdict, as content keys and records hold it."""
        return {"outputs": [output.facts() for output in self.outputs], "episodes": self.episodes}


@dataclass(frozen=True, kw_only=True)
class EquivalenceRule:
    """What counts as the same returns: settled before any run, in the unit of the return.

    ``margin`` is the largest difference of two means that does not matter. ``worst`` and ``best`` bound what a seed can
    come out at; values beyond them, should there be any, widen the bounds. ``seeds`` is how many a side is judged by:
    so many that two implementations that are the same are found so nine times in ten, where the returns of seeds
    deviate by ``deviation``.
    """

    margin: float
    worst: float
    best: float
    deviation: float
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Returns:
    """How a training's episode returns are summarised: the last ``episodes``, and by case the mean that is a goal.

    ``equivalence`` holds by case what counts as the same returns.
    """

    episodes: int
    thresholds: Mapping[str, float]
    equivalence: Mapping[str, EquivalenceRule] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LeastWork:
    """What a call does at least: operations, bytes read and written, and the case of copying whose size comes near."""

    operations: int
    bytes: int
    copied: str


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """An operation's least work by case, and the benchmarks that say how fast the machine is at such.

    The one counts ``operations``, the other ``bytes`` (Williams et al., 2009).
    """

    operations: str
    bytes: str
    cases: Mapping[str, LeastWork]


@dataclass(frozen=True, kw_only=True)
class EnvironmentSteps:
    """The steps of an environment that some implementations of a training cannot but make.

    By such an implementation, that of the operation ``benchmark`` which steps the same environment: one call of its
    ``case`` is a step. ``count`` names how many a training makes.
    """

    benchmark: str
    case: str
    count: str
    implementations: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Updates:
    """What a training's learning is made of, for its page to hold against the machine.

    By its case, that of the operation ``benchmark`` which is one update; ``count`` names how many it makes.
    """

    benchmark: str
    count: str
    cases: Mapping[str, str]
    environment: EnvironmentSteps | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One parameter point of a benchmark."""

    name: str
    parameters: Parameters


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """A command that does a benchmark's work.

    ``platforms`` is where it exists (None: everywhere), ``limits`` are those that it can be held to (None: all),
    ``without`` the cases that it cannot do, each with the reason.
    ``differs`` says in words what it does another way than the reference; then its work is not the same.
    """

    name: str
    command: tuple[str, ...]
    image: ImageTarget
    platforms: tuple[str, ...] | None
    without: Mapping[str, str]
    reference: bool
    determinism: Determinism
    differs: tuple[str, ...] = ()
    limits: tuple[str, ...] | None = None
    side: Side = Side.PEER

    def left_out(self, platform: str, case: str, limits: str) -> str | None:
        """Why the matrix asks for no such cell, or None."""
        if self.platforms is not None and platform not in self.platforms:
            return f"offered on {', '.join(self.platforms)} only"
        if self.limits is not None and limits not in self.limits:
            return f"cannot be held to the limits {limits}"
        return self.without.get(case)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A named piece of work with a reference.

    ``limits`` are the names of those that it runs under (none: the first of the matrix): the first of them, and the
    others where a selection names them. One ``on_request`` runs only where a selection names it.
    """

    name: str
    title: str
    kind: Kind
    headline: str
    inputs: tuple[str, ...]
    counts: Mapping[str, str]
    gate: Gate
    returns: Returns | None
    cases: Mapping[str, Case]
    sizes: Mapping[str, ByExecution[Parameters]]
    implementations: Mapping[str, Implementation]
    without: Mapping[str, ByExecution[frozenset[str]]] = field(default_factory=dict)
    """By profile, the cases and implementations that it leaves to longer ones."""
    limits: tuple[str, ...] = ()
    on_request: bool = False
    refereed: bool = False
    """Whether its implementations are led by the referee, docs/protocol.md."""
    roofline: Roofline | None = None
    updates: Updates | None = None
    decision: Decision | None = None

    def left_to_longer(self, profile: str, *, emulated: bool) -> frozenset[str]:
        """The cases and implementations that a profile leaves to longer ones."""
        found = self.without.get(profile)
        return found.of(emulated=emulated) if found else frozenset()

    @property
    def reference(self) -> Implementation:
        """The implementation whose outputs the gate compares with."""
        return next(each for each in self.implementations.values() if each.reference)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The whole of matrix.yaml."""

    toolchains: Mapping[str, Toolchain]
    platforms: Mapping[str, Platform]
    limits: Mapping[str, Limits]
    profiles: Mapping[str, Profile]
    benchmarks: Mapping[str, Benchmark]

    def limits_of(self, benchmark: Benchmark) -> tuple[Limits, ...]:
        """The limits that this benchmark runs under: the first always, the others on request."""
        return tuple(self.limits[name] for name in benchmark.limits or tuple(self.limits)[:1])

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures of all platforms, each once."""
        return tuple(dict.fromkeys(platform.architecture for platform in self.platforms.values()))
