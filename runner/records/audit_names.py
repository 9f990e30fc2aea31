"""The names of a record: its identifier, its launch and its cases follow from other fields."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from runner.matrix import Kind
from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record

_DRAWN = re.compile(r"[0-9a-f]{8}\Z")


def schema(record: Record) -> Iterator[Contradiction]:
    """The first schema holds no work and no list of cases."""
    if record.schema == 1 and (record.work or record.launch.cases):
        yield contradiction(
            "a record of schema 1 holds what only later schemas have", "schema", "work", "launch.cases"
        )


def identifier(record: Record) -> Iterator[Contradiction]:
    """A record is named after the start of its launch and the start of its key."""
    started = datetime.fromisoformat(record.launch.started_at).astimezone(UTC)
    forms = ("%Y%m%dT%H%M%S%fZ", "%Y%m%dT%H%M%SZ") if record.schema == 1 else ("%Y%m%dT%H%M%S%fZ",)
    named = [f"{started:{form}}-{record.key[:16]}" for form in forms]
    if record.identifier not in named:
        yield contradiction(
            f"the identifier is {record.identifier}, and start and key give {named[0]}",
            *("id", "launch.started_at", "key"),
        )


def launch(record: Record) -> Iterator[Contradiction]:
    """A launch is named after its cell, with eight digits that are drawn."""
    cell = record.cell
    start = f"{cell.benchmark}-{cell.implementation}-{cell.platform}-s{cell.seed}-"
    identifier = record.launch.id
    if not identifier.startswith(start) or not _DRAWN.match(identifier, len(start)):
        yield contradiction(
            f"the launch is {identifier}, and its cell gives {start}...", "launch.id", *_of("cell")
        )


def cases(record: Record) -> Iterator[Contradiction]:
    """A measurement is of the record's case, and a launch serves cases that its generator knows."""
    if record.measurement and record.measurement.case != record.case:
        yield contradiction(
            f"the measurement is of {record.measurement.case}, and the record of {record.case}",
            *("measurement.case", "cell.case"),
        )
    served = record.launch.cases or ()
    if not record.work:
        return
    if record.case not in served or len(set(served)) != len(served):
        yield contradiction(
            f"the launch served {', '.join(served)}, which must be {record.case} and others, each once",
            *("launch.cases", "cell.case"),
        )
    known = record.work.inputs.cases
    if unknown := [each for each in served if each not in known]:
        yield contradiction(
            f"the launch served {', '.join(unknown)}, of which no inputs are made",
            *("launch.cases", "work.inputs.cases"),
        )
    if record.work.kind is Kind.TRAINING and (len(served) != 1 or record.work.gate.episodes is None):
        yield contradiction(
            f"a training plays episodes and has a launch for itself, and this one served {len(served)} cases",
            *("work.kind", "launch.cases", "work.gate.episodes"),
        )


def parameters(record: Record) -> Iterator[Contradiction]:
    """The parameters are those of the case that the generator knows, and the profile's sizes."""
    if not record.work:
        return
    for name, value in record.work.inputs.cases.get(record.case, {}).items():
        own = record.parameters.get(name)
        if own != value or type(own) is not type(value):
            yield contradiction(
                f"{name} is {own} in the record, and {value} for the generator of its inputs",
                *(f"parameters.{name}", f"work.inputs.cases.{record.case}.{name}"),
            )


def _of(part: str) -> tuple[str, ...]:
    return tuple(f"{part}.{name}" for name in ("benchmark", "implementation", "platform", "seed"))


RULES: tuple[Rule, ...] = (
    schema,
    identifier,
    launch,
    cases,
    parameters,
)
