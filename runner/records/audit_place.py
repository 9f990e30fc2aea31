"""Where the cell ran: image, software, execution and machine fit one another."""

from collections.abc import Iterator

from runner.matrix import Instructions
from runner.matrix.images import CORE, OURS
from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.execution import ExecutionKind
from runner.records.record import Record

_DOCKER = "docker"
_WITHOUT = {Instructions.AVX2: "avx2"}


def execution(record: Record) -> Iterator[Contradiction]:
    """Native code is of the machine's architecture, and no emulator runs it."""
    here, image = record.machine.architecture, record.image.architecture
    if record.execution.kind is ExecutionKind.NATIVE and isinstance(here, str) and here != image:
        yield contradiction(
            f"the execution is native, the image is for {image} and the machine is {here}",
            *("execution.kind", "image.architecture", "machine.architecture"),
        )
    if record.execution.kind is ExecutionKind.NATIVE and record.execution.emulator is not None:
        yield contradiction(
            f"the execution is native, and {record.execution.emulator} emulated it", *_EXECUTION
        )


def image(record: Record) -> Iterator[Contradiction]:
    """Docker runs images that have a digest; what asks for the core image runs in it."""
    found = record.image
    if (record.launch.executor == _DOCKER) != (found.config_digest is not None):
        yield contradiction(
            f"the executor is {record.launch.executor}, and the image has the digest {found.config_digest}",
            *("launch.executor", "image.config_digest"),
        )
    if not record.work:
        return
    if record.work.target == CORE.name and found != record.work.core:
        yield contradiction("the work asks for the core image, and another one ran", *_IMAGE, "work.target")
    if record.work.core.architecture != found.architecture:
        yield contradiction(
            f"the image is for {found.architecture}, and the core image for {record.work.core.architecture}",
            *_IMAGE,
        )
    if record.launch.executor == _DOCKER and record.work.core.target != CORE.name:
        yield contradiction(f"the core image is {record.work.core.target}", "work.core.target")
    if record.launch.executor == _DOCKER and found.target != record.work.target:
        yield contradiction(
            f"the work asks for the image {record.work.target}, and {found.target} ran",
            *_IMAGE,
            "work.target",
        )


def pins(record: Record) -> Iterator[Contradiction]:
    """One of our images holds the versions that the toolchain pins: no other is run."""
    target = OURS.get(record.image.target)
    if not record.work or target is None or record.image.identity is None:
        return
    for name, pin in target.pins:
        held, pinned = record.software.get(name), str(record.work.toolchain[pin])
        # A local part such as +debian or +cpu names the build, not the release.
        if (held or "").partition("+")[0] != pinned:
            yield contradiction(
                f"the image holds {name} {held}, and the toolchain pins {pinned}",
                *(f"software.{name}", f"work.toolchain.{pin}"),
            )


def machine(record: Record) -> Iterator[Contradiction]:
    """A machine has no more cores than CPUs, and the instructions that the launch was capped at."""
    facts = record.machine
    if (
        isinstance(facts.physical_cores, int)
        and isinstance(facts.logical_cpus, int)
        and facts.physical_cores > facts.logical_cpus
    ):
        yield contradiction(
            f"the machine has {facts.physical_cores} cores and {facts.logical_cpus} CPUs",
            *("machine.physical_cores", "machine.logical_cpus"),
        )
    cap = record.work.limits.instructions if record.work else None
    if cap and isinstance(facts.simd, tuple) and _WITHOUT.get(cap, cap.value) not in facts.simd:
        yield contradiction(
            f"the launch was capped at {cap.value}, which the machine does not have",
            *("work.limits.instructions", "machine.simd"),
        )


def files(record: Record) -> Iterator[Contradiction]:
    """There are inputs, and the outputs that the gate judged."""
    if not record.inputs:
        yield contradiction("the launch had no input file", "inputs")
    if not record.work or record.failure:
        return
    gate = record.work.gate
    folders = [f"{each}/" for each in record.referee.asked] if record.referee else [""]
    judged = [] if record.work.differs else [each.file for each in gate.outputs]
    judged += [gate.episodes] if gate.episodes else []
    # What differs may have environments of its own, of which nothing is logged.
    unlogged = gate.replay.actions if gate.replay and record.work.differs else None
    judged += [each for each in gate.digest or [] if each != unlogged]
    due = [f"{folder}{file}" for folder in folders for file in judged]
    if missing := [each for each in due if each not in record.outputs]:
        yield contradiction(
            f"the cell passed, and it wrote no {', '.join(missing[:5])}", "outputs", "work.gate", "gate"
        )


def reference(record: Record) -> Iterator[Contradiction]:
    """A record of the reference has the reference's command and determinism.

    Only an emulated record of another implementation is judged by the reference of another platform.
    """
    if record.work and record.work.reference.platform:
        own = record.work.reference.platform == record.platform
        if (
            own
            or not record.execution.emulated
            or record.implementation == record.work.reference.implementation
        ):
            yield contradiction(
                f"the reference ran natively on {record.work.reference.platform}, and an emulated record of another "
                "platform and implementation is what it may judge there",
                *("work.reference.platform", "execution.kind"),
            )
    if not record.work or record.implementation != record.work.reference.implementation:
        return
    said = record.work.reference
    if (said.command, said.determinism) != (record.command, record.determinism) or record.work.differs:
        yield contradiction(
            f"the record is of the reference {said.implementation}, and differs from it",
            *("command", "determinism", "work.reference", "work.differs"),
        )


_EXECUTION = ("execution.kind", "execution.emulator")
_IMAGE = ("image", "work.core")


RULES: tuple[Rule, ...] = (
    execution,
    image,
    pins,
    machine,
    files,
    reference,
)
