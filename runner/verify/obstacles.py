"""What keeps a figure from being judged: another machine, another image, emulation, load."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.planning.cpu_differences import unlike_cpus
from runner.records.record import Record
from runner.report.tables.warnings import is_loaded
from runner.verify.findings import Pair
from runner.verify.images import Likeness

# The facts that decide whether two machines are one model. Speed and the choice of vectorised kernels follow from
# them.
MODEL = ("cpu_model", "architecture", "simd", "caches")
_NEVER = "emulated times are never judged"


def why_no_times(pairs: Sequence[Pair], olds: Sequence[Record], news: Sequence[Record]) -> str | None:
    """Why the times of these records may not be judged, or None."""
    old = olds[0]
    for record, said in (
        (old, _NEVER),
        *((new, f"emulated here, and {_NEVER}") for new in news),
    ):
        if record.execution.emulated:
            return said
        if not record.execution.ranked:
            return "the record does not say whether the execution was native"
    for new in news:
        if new.launch.executor != old.launch.executor:
            return f"run by the executor {new.launch.executor}, was {old.launch.executor}"
        different = other_machine(old.machine.plain(), new.machine.plain())
        if different is not None:
            return different
    for pair in pairs:
        if pair.new is None:
            continue
        unlike = unlike_cpus(pair.old.launch.limits, pair.new.launch.limits)
        if unlike is not None:
            return unlike
    worst = max(pair.likeness for pair in pairs)
    return str(worst) if worst is Likeness.OTHER else too_short((*olds, *news))


def too_short(records: Iterable[Record]) -> str | None:
    """Why claims were not held against their windows, or None."""
    records = tuple(records)
    if not all(record.is_repeated for record in records):
        return "one repetition shows that the work is right, and not how fast it is"
    return None if all(record.judged for record in records) else "some windows are too short to be judged"


def why_no_memory(olds: Sequence[Record], news: Sequence[Record]) -> str | None:
    """Why a peak may not be compared: a process's peak covers all cases that it served."""
    for old, new in zip(olds, news, strict=True):
        then, now = (sorted(record.launch.cases or ()) for record in (old, new))
        if then != now:
            return f"its process served {len(then)} cases, and {len(now)} now"
    return None


def why_no_bytes(pair: Pair, new: Record) -> str | None:
    """Why an implementation that promises bytes on one machine and image may give other bytes here."""
    if pair.likeness is not Likeness.SAME and not _same_host(pair.old, new):
        return str(pair.likeness)
    if pair.old.execution.kind != new.execution.kind:
        return f"executed {new.execution.kind.value}, was {pair.old.execution.kind.value}"
    return other_machine(pair.old.machine.plain(), new.machine.plain())


def circumstance_of(pair: Pair, new: Record) -> str | None:
    """The causes outside the implementation that may have made a cell fail or pass."""
    if pair.likeness is Likeness.OTHER:
        return str(pair.likeness)
    if pair.old.execution.kind != new.execution.kind:
        return f"executed {new.execution.kind.value}, was {pair.old.execution.kind.value}"
    if pair.old.launch.executor != new.launch.executor:
        return f"run by the executor {new.launch.executor}"
    return other_machine(pair.old.machine.plain(), new.machine.plain())


def loaded(olds: Sequence[Record], news: Sequence[Record]) -> str | None:
    """The launches that a loaded machine made slower, in words; None where there was none."""
    for when, records in (("then", olds), ("now", news)):
        count = sum(map(is_loaded, records))
        if count:
            return f"the machine was loaded in {count} of {len(records)} launches {when}"
    return None


def other_machine(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Why two machines are not one model, or None."""
    if old.get("cpu_model") is None or new.get("cpu_model") is None:
        return "the CPU model is unknown"
    for name in MODEL:
        if old.get(name) != new.get(name):
            return f"another machine: {name.replace('_', ' ')} {_brief(new.get(name))}, was {_brief(old.get(name))}"
    return None


def _same_host(old: Record, new: Record) -> bool:
    """Whether both records, without images, have the same sources and the same software on the host."""
    images = (old.image, new.image)
    return (
        all(image.identity is None and image.config_digest is None for image in images)
        and old.image.execution_hash == new.image.execution_hash
        and old.software == new.software
    )


def _brief(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (60 with the dots)
