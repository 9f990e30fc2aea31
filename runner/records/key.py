"""The content key of a cell: what its figures and verdict depend on, by each version of the rules.

Planning makes a key from a cell of the matrix. The audit makes the key of a record again, from what the record holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.records.record import Record, content_hash
from runner.records.work import WorkFacts
from runner.system.machine import fingerprint

Content = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """All that a key may depend on.

    Attributes:
        names: the benchmark, the case and the implementation.
        command: of the implementation.
        parameters: of the case, with the profile's sizes.
        seed: of the cell.
        inputs: the generator's command.
        gate: its rules, as a record holds them.
        counts: the expected counts, as arithmetic.
        headline: the metric that is ranked.
        reference: the reference's command.
        limits: those that influence a figure.
        toolchain: its name and its pins.
        architecture: of the image.
        execution_hash: of the image's executed inputs.
        execution: the kind and the emulator.
        executor: by its name.
        machine: what tells one machine from another.
        other_work: whether the work differs from the reference's.
        refereed: whether a referee led the launch.
        reference_platform: where the reference ran, if not on this platform.
    """

    names: Mapping[str, str]
    command: tuple[str, ...]
    parameters: Mapping[str, Any]
    seed: int
    inputs: tuple[str, ...]
    gate: Mapping[str, Any]
    counts: Mapping[str, str]
    headline: str
    reference: tuple[str, ...]
    limits: Mapping[str, Any]
    toolchain: Mapping[str, Any]
    architecture: str
    execution_hash: str
    execution: Mapping[str, Any]
    executor: str
    machine: Mapping[str, Any]
    other_work: bool
    refereed: bool
    reference_platform: str | None


def ingredients_of(record: Record, work: WorkFacts) -> Ingredients:
    """What the key of a record was made of; ``work`` is the record's own."""
    cell = record.cell
    return Ingredients(
        names={"benchmark": cell.benchmark, "case": cell.case, "implementation": cell.implementation},
        command=record.command,
        parameters=record.parameters,
        seed=cell.seed,
        inputs=work.inputs.command,
        gate=work.gate.plain(),
        counts=work.counts,
        headline=work.headline,
        reference=work.reference.command,
        limits=work.limits.plain(),
        toolchain={"name": cell.toolchain, **work.toolchain},
        architecture=record.image.architecture,
        execution_hash=record.image.execution_hash,
        execution=record.execution.plain(),
        executor=record.launch.executor,
        machine=fingerprint(record.machine.plain()),
        other_work=bool(work.differs),
        refereed=work.refereed is True,
        reference_platform=work.reference.platform or None,
    )


def key_of(record: Record, work: WorkFacts) -> str | None:
    """The key that a record must have; None where a later version made the rules of its key."""
    rules = KEY_VERSIONS.get(record.made_by_rules)
    return None if rules is None else content_hash(rules(ingredients_of(record, work)))


def newest_key_version() -> int:
    """The version of the rules that make a new record's key."""
    return max(KEY_VERSIONS)


def _content_1(of: Ingredients) -> Content:
    # The wording of a difference changes nothing; its existence decides what the gate judges.
    other_work = {"other_work": True} if of.other_work else {}
    refereed = {"refereed": True} if of.refereed else {}
    elsewhere = {"reference_platform": of.reference_platform} if of.reference_platform else {}
    return (
        other_work
        | refereed
        | elsewhere
        | {
            **of.names,
            "command": of.command,
            "parameters": of.parameters,
            "seed": of.seed,
            "inputs": of.inputs,
            "gate": of.gate,
            "counts": of.counts,
            "headline": of.headline,
            "reference": of.reference,
            "limits": of.limits,
            "toolchain": of.toolchain,
            "architecture": of.architecture,
            "execution_hash": of.execution_hash,
            "execution": of.execution,
            "executor": of.executor,
            "machine": of.machine,
        }
    )


# A record names the version that made its key; a record without one has version 1. A change of what a key depends on
# needs a new function under a new number. Records of earlier versions are still found by their own rules.
KEY_VERSIONS: dict[int, Callable[[Ingredients], Content]] = {1: _content_1}
