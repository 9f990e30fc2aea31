"""Whether rooms agree: the same bytes from the same inputs, for implementations that are declared portable."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from runner.matrix import Benchmark, Determinism, Kind
from runner.records.record import Record
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

SAME, DIFFERENT = "same bytes", "differs"


def agreement(room: Room, row: Row, others: Sequence[Room]) -> str:
    """Whether a row agrees with those of other platforms under the same toolchain and limits."""
    return agreement_with(
        room,
        row,
        [
            other
            for other in others
            if other.platform != room.platform
            and (other.toolchain, other.limits) == (room.toolchain, room.limits)
        ],
    )


def agreement_with(room: Room, row: Row, others: Sequence[Room]) -> str:
    """``same bytes``, ``differs`` or a dash where there is nothing to compare.

    It compares passed records of the same seed and input files in the other rooms. An output file of the gate is
    compared where the parameters that it depends on are equal. All files are compared where all parameters are equal
    (a training's weights depend on its length). Emulated records count too: emulation changes times and no byte.
    """
    if row.implementation.determinism is not Determinism.PORTABLE:
        return NOTHING
    theirs = {
        record.seed: record
        for other in others
        for each in other.of_case(row.case.name)
        if each.implementation.name == row.implementation.name
        for record in each.passed
    }
    answers = [
        answer
        for record in row.passed
        if record.seed in theirs
        and (answer := _same(record, theirs[record.seed], room.benchmark)) is not None
    ]
    if not answers:
        return NOTHING
    return SAME if all(answers) else DIFFERENT


def _same(one: Record, other: Record, benchmark: Benchmark) -> bool | None:
    """Whether two records' files are equal; None where they may not be compared."""
    if one.inputs != other.inputs:
        return None
    nonces = {record.referee and record.referee.nonce for record in (one, other)}
    if benchmark.kind is Kind.OPERATION and len(nonces) > 1:
        # Other inputs, from another run. A training's seed is public.
        return None
    files = one.outputs.keys() & other.outputs.keys()
    parameters = one.parameters, other.parameters
    if parameters[0] != parameters[1]:
        comparable = {
            output.file
            for output in benchmark.gate.outputs
            if all(parameters[0].get(name) == parameters[1].get(name) for name in output.depends_on)
        }
        # Under a referee a file lies in the folder of its repetition.
        files = {file for file in files if PurePosixPath(file).name in comparable}
    return all(one.outputs[file] == other.outputs[file] for file in files) if files else None
