"""The types that a valid matrix becomes. This module reads no file and checks nothing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain

Parameters = Mapping[str, Any]
T = TypeVar("T")


class Kind(Enum):
    """The kind of work that a benchmark does."""

    OPERATION = "operation"
    TRAINING = "training"


class Decision(Enum):
    """The decision that a benchmark's page helps to make."""

    CROSSING = "crossing"
    """How many environments one call from Python to Rust should step, and what staying in Rust saves."""
    BACKEND = "backend"
    """Which library should compute the networks."""


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
    """Our code without the call from Python that its users pay for. It is compared, and is never the headline."""
    REFERENCE = "reference"
    """The reference and its variants."""
    PEER = "peer"
    """Every other implementation. The fastest competitor is one of these or on the reference's side."""


@dataclass(frozen=True, kw_only=True)
class Slurm:
    """The nodes of a Slurm fleet: a partition (None: Slurm's default) and the features that a node must have."""

    partition: str | None = None
    constraint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Platform:
    """An architecture together with the place where it runs: this machine, a ``host`` over SSH, or a ``slurm`` fleet.

    ``host`` is the address of another machine, as ``ssh://user@board:22``.
    """

    name: str
    architecture: str
    host: str | None = None
    slurm: Slurm | None = None

    @property
    def is_here(self) -> bool:
        """Whether its launches run on the machine of the runner's own daemon."""
        return self.host is None and self.slurm is None

    @property
    def machine(self) -> str:
        """Which machine it is: platforms of one machine run one after another. Empty for the runner's own."""
        return self.name if self.slurm is not None else self.host or ""


class Instructions(Enum):
    """The best instructions that a launch may compute with."""

    AVX2 = "avx2"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one launch may use. ``memory_bytes`` is also the limit of memory plus swap.

    ``instructions`` are the best instructions that the launch computes with (None: the processor's best).
    """

    name: str
    cpus: int
    memory_bytes: int
    pids: int
    threads: int
    instructions: Instructions | None = None

    def facts(self) -> dict[str, Any]:
        """The limits that influence a figure, as content keys and records hold them. An absent limit is left out."""
        facts = {"cpus": self.cpus, "memory_bytes": self.memory_bytes}
        return {**facts, "pids": self.pids, "threads": self.threads} | (
            {} if self.instructions is None else {"instructions": self.instructions.value}
        )


@dataclass(frozen=True, kw_only=True)
class ByExecution(Generic[T]):
    """A value with a second, smaller value for emulated execution."""

    native: T
    emulated: T

    def of(self, *, emulated: bool) -> T:
        """The value for this kind of execution."""
        return self.emulated if emulated else self.native


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How much is run.

    ``minutes`` is the time that the matrix's author expects on two cores. ``benchmarks`` are those that it runs where no
    selection names any (None: all), and ``toolchains`` those that it runs them with (None: all).
    """

    name: str
    minutes: float
    seeds: ByExecution[tuple[int, ...]]
    deadline_seconds: ByExecution[float]
    benchmarks: tuple[str, ...] | None = None
    toolchains: tuple[str, ...] | None = None

    def runs(self, benchmark: str) -> bool:
        """Whether it runs a benchmark without being asked to."""
        return self.benchmarks is None or benchmark in self.benchmarks


@dataclass(frozen=True, kw_only=True)
class OutputCheck:
    """How one output file is compared with the reference's.

    One rule goes element by element: ``|x - r| <= atol + rtol * |r|``. The rule ``scaled`` bounds, for each tensor,
    the largest difference divided by the reference's largest magnitude. ``tensors`` holds separate bounds for tensors
    whose names match a pattern. With ``drift``, tensors ``after.NAME`` have another rule. Their largest scaled
    difference is at most ``drift`` times that of the reference's ``after.NAME`` from its ``exact.NAME``. The rule
    ``rms`` bounds, for each tensor, the root mean square of the differences divided by that of the reference.

    ``depends_on`` names the parameters of a profile that the file's bytes depend on.
    """

    file: str
    rtol: float
    atol: float
    scaled: float | None
    tensors: Mapping[str, float]
    drift: float | None = None
    rms: float | None = None
    depends_on: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The rules that influence a verdict.

        A rule that is not used is left out, because it may be newer than a record's key.
        """
        facts = {"file": self.file, "rtol": self.rtol, "atol": self.atol, "scaled": self.scaled}
        newer = {"drift": self.drift, "rms": self.rms}
        return {
            **facts,
            "tensors": dict(self.tensors),
            **{name: bound for name, bound in newer.items() if bound is not None},
        }


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What the referee plays again of a training.

    ``actions`` is the output file that logs each reset and action of its environments. ``weights`` is the one of its
    final weights.
    """

    actions: str
    weights: str


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The checks that an implementation passes before its times count.

    ``digest`` says what a referee's digest covers: output files, each with the pattern of its tensors' names. All
    ``outputs`` are covered where it is empty. ``replay`` says what is played again of a training (None: nothing).
    """

    outputs: tuple[OutputCheck, ...]
    episodes: str | None
    digest: Mapping[str, str] = field(default_factory=dict)
    replay: Replay | None = None

    def facts(self) -> dict[str, Any]:
        """The rules that influence a verdict, as content keys and records hold them."""
        facts: dict[str, Any] = {
            "outputs": [output.facts() for output in self.outputs],
            "episodes": self.episodes,
        }
        newer = {
            "digest": dict(self.digest) if self.digest else None,
            "replay": asdict(self.replay) if self.replay else None,
        }
        return facts | {name: value for name, value in newer.items() if value is not None}

    @property
    def digested(self) -> Mapping[str, str]:
        """The files that a digest covers, each with the pattern of its tensors' names."""
        return self.digest or {output.file: "*" for output in self.outputs}


@dataclass(frozen=True, kw_only=True)
class EquivalenceRule:
    """The rule for equivalent returns, fixed before any run, in the unit of the return.

    ``margin`` is the largest difference of two means that does not matter. ``worst`` and ``best`` bound the return of
    a seed. A value beyond a bound widens it. ``seeds`` is the number of seeds for each side. With it, two equal
    implementations are found equivalent nine times in ten, where ``deviation`` is the standard deviation between
    seeds.
    """

    margin: float
    worst: float
    best: float
    deviation: float
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Returns:
    """How a training's episode returns are summarised.

    ``episodes`` is how many of the last episodes count. ``thresholds`` holds the mean return that each case aims at.
    ``equivalence`` holds the rule for equivalent returns of each case. ``published`` holds the return of each case that
    the reference's own authors published.
    """

    episodes: int
    thresholds: Mapping[str, float]
    published: Mapping[str, float] = field(default_factory=dict)
    equivalence: Mapping[str, EquivalenceRule] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LeastWork:
    """The least work of a call: operations, bytes read and written, and the copying case of the nearest size.

    ``operations`` is None where only bytes bound the call.
    """

    operations: int | None
    bytes: int
    copied: str


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """An operation's least work by case, and the benchmarks that measure the machine's best rates.

    One benchmark counts ``operations``, the other ``bytes`` (Williams et al., 2009). ``operations`` is None where no case
    counts any.
    """

    operations: str | None
    bytes: str
    cases: Mapping[str, LeastWork]


@dataclass(frozen=True, kw_only=True)
class EnvironmentSteps:
    """The environment steps that some implementations of a training must make.

    It maps each such implementation to the implementation of the operation ``benchmark`` that steps the same
    environment. One call of its ``case`` is a step. ``count`` names the training's number of steps.
    """

    benchmark: str
    case: str
    count: str
    implementations: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Updates:
    """The updates of a training, for its page to compare with the machine's lower bound.

    It maps each case of the training to the case of the operation ``benchmark`` that is one update. ``count`` names
    the training's number of updates.
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

    ``platforms`` are the platforms where it exists (None: all). ``limits`` are the limits that it can run under
    (None: all). ``without`` holds the cases that it cannot do, each with the reason. ``lacked_by`` holds the toolchains
    that have no image for it, each with the reason. ``differs`` says how its work differs from the reference's; such an
    implementation is unranked. ``emulated`` says why it runs on real processors alone (None: everywhere).
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
    lacked_by: Mapping[str, str] = field(default_factory=dict)
    emulated: str | None = None

    def left_out(
        self, platform: str, case: str, limits: str, toolchain: str, *, emulated: bool
    ) -> str | None:
        """Why the matrix excludes such a cell, or None."""
        if self.platforms is not None and platform not in self.platforms:
            return f"offered on {', '.join(self.platforms)} only"
        if self.limits is not None and limits not in self.limits:
            return f"cannot be held to the limits {limits}"
        if emulated and self.emulated is not None:
            return self.emulated
        return self.lacked_by.get(toolchain) or self.without.get(case)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A named piece of work with a reference.

    ``limits`` names its limits (empty: the first of the matrix). It runs under the first, and under the others where
    a selection names them. A benchmark ``on_request`` runs only where a selection names it.
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
    """The cases and implementations that each profile leaves to longer profiles."""
    limits: tuple[str, ...] = ()
    on_request: bool = False
    refereed: bool = False
    """Whether its implementations are led by the referee, docs/protocol.md."""
    roofline: Roofline | None = None
    updates: Updates | None = None
    decision: Decision | None = None

    def left_to_longer(self, profile: str, *, emulated: bool) -> frozenset[str]:
        """The cases and implementations that this profile leaves to longer profiles."""
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
    registry: str | None = None
    """The repository that releases push our images to."""

    def limits_of(self, benchmark: Benchmark) -> tuple[Limits, ...]:
        """The limits of this benchmark. It always runs under the first, and under the others on request."""
        return tuple(self.limits[name] for name in benchmark.limits or tuple(self.limits)[:1])

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures of all platforms, each once."""
        return tuple(dict.fromkeys(platform.architecture for platform in self.platforms.values()))
