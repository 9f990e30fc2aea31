"""The audit of records beside each other: those of one launch, and those of one image."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from runner.records.contradiction import ROUNDING, Contradiction, contradiction
from runner.records.record import Record, content_hash
from runner.records.verdicts import calls_of, claimed_seconds

_OF_A_LAUNCH = ("profile", "command", "execution", "image", "software", "machine", "launch", "determinism")
_OF_A_PROGRAM = ("program_bytes", "compile_seconds")


def audit_together(records: Iterable[Record]) -> Iterator[Contradiction]:
    """Every contradiction between records that were published together."""
    listed = tuple(records)
    yield from _same(listed, "launch", lambda each: each.launch.id, _launch)
    yield from _same(listed, "image", lambda each: each.image.config_digest, _image)
    yield from _same(listed, "program", _program, _built)
    yield from _same(listed, "gate", _gate, _checks)
    yield from _times(listed)


def _same(
    records: Iterable[Record],
    what: str,
    place: Callable[[Record], Hashable],
    facts: Callable[[Record], Any],
) -> Iterator[Contradiction]:
    """Records of one place agree in its facts. Where the place is None there is nothing to agree in."""
    first: dict[Hashable, tuple[str, Any]] = {}
    for each in records:
        where = place(each)
        if where is None:
            continue
        known, found = first.setdefault(where, (each.identifier, facts(each)))
        if found != facts(each):
            yield contradiction(
                f"records {known} and {each.identifier} are of one {what} and tell different facts of it",
                what,
            )


def _launch(record: Record) -> Any:
    return tuple(getattr(record, name) for name in _OF_A_LAUNCH)


def _image(record: Record) -> Any:
    return record.image, record.software


def _program(record: Record) -> Hashable:
    """A program that says how large it is was compiled when its image was built."""
    if _OF_A_PROGRAM[0] not in record.metrics:
        return None
    return record.image.config_digest, record.command, record.case


def _built(record: Record) -> Any:
    return [record.metrics.get(name) for name in _OF_A_PROGRAM]


def _gate(record: Record) -> Hashable:
    """A gate compares the same tensors of each implementation: those of the reference."""
    if not record.work or record.failed or record.differs or record.referee:
        return None
    work = record.work.plain()
    return content_hash(
        [record.benchmark, record.case, record.platform, work["gate"], work["reference"], work["core"]]
    )


def _checks(record: Record) -> Any:
    return [each.check for each in record.gate]


def _times(records: Iterable[Record]) -> Iterator[Contradiction]:
    """The cases of a launch were measured one after another, while it lived."""
    claimed: dict[str, float] = {}
    lived: dict[str, float] = {}
    for each in records:
        if each.work and not each.failed:
            whole = claimed_seconds(each.metrics.get(each.work.headline), calls=calls_of(each.parameters))
            claimed[each.launch.id] = claimed.get(each.launch.id, 0.0) + whole
            lived[each.launch.id] = float(each.launch.wall_seconds)
    for launch, seconds in claimed.items():
        if seconds > lived[launch] * ROUNDING:
            yield contradiction(
                f"the cases of launch {launch} claim {seconds:.6g} s, and it lived {lived[launch]:.6g} s",
                *("measurement.metrics", "launch.wall_seconds"),
            )
