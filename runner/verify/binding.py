"""Whether the work of a record is that of a matrix, and what a record may ask of this machine.

A record says itself what was run, what its gate compared and what it counts. Its seal says that nobody changed this
since, and not that it is anybody's benchmark. A matrix says that.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from runner.matrix import Limits, Matrix
from runner.matrix.faults import did_you_mean
from runner.matrix.model import ByExecution
from runner.planning.cells import Cell
from runner.planning.definition import definition_of
from runner.system.printable import one_line

_LONGEST_VALUE, _LONGEST = 120, 400
_MOST_DIFFERENCES = 3


def differences(cell: Cell, matrix: Matrix, *, profile: str, emulated: bool) -> tuple[str, ...]:
    """How a record's cell differs from the cell of the same names in a matrix; empty where it is the matrix's work.

    Args:
        cell: the record's.
        matrix: what it is held against.
        profile: of the record's run; it decides the sizes.
        emulated: whether the record's execution was; sizes under emulation differ.
    """
    unknown = _unknown(cell, matrix, profile)
    if unknown is not None:
        return (unknown,)
    benchmark = matrix.benchmarks[cell.benchmark.name]
    case = benchmark.cases[cell.case.name]
    ours = replace(
        cell,
        benchmark=benchmark,
        case=case,
        implementation=benchmark.implementations[cell.implementation.name],
        toolchain=matrix.toolchains[cell.toolchain.name],
        limits=matrix.limits[cell.limits.name],
        parameters={**case.parameters, **benchmark.sizes[profile].of(emulated=emulated)},
    )
    found = list(_unequal(_facts(cell), _facts(ours)))
    more = len(found) - _MOST_DIFFERENCES
    return (*found[:_MOST_DIFFERENCES], *([f"and {more} more"] if more > 0 else []))


def allowed(limits: Limits, matrix: Matrix) -> Limits:
    """The limits of a record, none above the largest of the matrix: a record decides nothing about this machine."""
    most = tuple(matrix.limits.values())
    return replace(
        limits,
        memory_bytes=min(limits.memory_bytes, max(each.memory_bytes for each in most)),
        pids=min(limits.pids, max(each.pids for each in most)),
        threads=min(limits.threads, max(each.threads for each in most)),
    )


def deadlines(profile: str, matrix: Matrix) -> ByExecution[float]:
    """The seconds that a launch may take: the profile's, or the longest of the matrix where it has no such profile."""
    known = matrix.profiles.get(profile)
    if known is not None:
        return known.deadline_seconds
    every = [each.deadline_seconds for each in matrix.profiles.values()]
    return ByExecution(
        native=max(each.native for each in every), emulated=max(each.emulated for each in every)
    )


def _unknown(cell: Cell, matrix: Matrix, profile: str) -> str | None:
    """The first name that the matrix does not have."""
    benchmark = matrix.benchmarks.get(cell.benchmark.name)
    if benchmark is None:
        return _lacks("benchmark", cell.benchmark.name, matrix.benchmarks)
    for what, name, known in (
        ("implementation", cell.implementation.name, benchmark.implementations),
        ("case", cell.case.name, benchmark.cases),
        ("toolchain", cell.toolchain.name, matrix.toolchains),
        ("limits", cell.limits.name, matrix.limits),
        ("profile", profile, benchmark.sizes),
    ):
        if name not in known:
            return _lacks(what, name, known)
    return None


def _lacks(what: str, name: str, known: Mapping[str, Any]) -> str:
    return f'the matrix has no {what} "{name}"{did_you_mean(name, known)}'


def _facts(cell: Cell) -> Mapping[str, Any]:
    """The definition, and under what it is measured."""
    return {
        **definition_of(cell),
        "parameters": dict(cell.parameters),
        "toolchain": asdict(cell.toolchain),
        "limits": cell.limits.facts(),
    }


def _unequal(said: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Each leaf with another value, with its path."""
    if isinstance(said, Mapping) and isinstance(ours, Mapping):
        for name in sorted(said.keys() | ours.keys()):
            yield from _unequal(said.get(name), ours.get(name), f"{path}.{name}" if path else str(name))
    elif _are_tables(said, ours):
        for index, (one, other) in enumerate(zip(said, ours, strict=True)):
            yield from _unequal(one, other, f"{path}.{index}")
    elif said != ours:
        # A record may hold any text, and this goes to a terminal.
        yield one_line(f"{path} is {_brief(said)} in the record, and {_brief(ours)} in the matrix", _LONGEST)


def _are_tables(said: Any, ours: Any) -> bool:
    """Whether both are lists of as many objects. Other lists, such as a command, are compared as a whole."""
    lists = isinstance(said, list) and isinstance(ours, list) and len(said) == len(ours)
    return lists and all(isinstance(each, Mapping) for each in (*said, *ours))


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
