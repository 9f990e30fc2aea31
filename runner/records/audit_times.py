"""The times: no figure in seconds is longer than its launch lived, and the gate's word on the headline follows."""

from collections.abc import Iterator
from itertools import pairwise

from runner.records.contradiction import ROUNDING, Contradiction, Rule, contradiction
from runner.records.record import Record
from runner.records.verdicts import calls_of, claimed_seconds, times_verdict

_LONGEST_COMPILATION = 24 * 3600
_WHOLE, _PARTS = "wall_seconds", ("training_seconds", "initialisation_seconds")
# Others may be older than the launch: a program's compile_seconds passed when its image was built.
_SECONDS = "seconds"
_OF_THE_LAUNCH = (_SECONDS, _WHOLE, *_PARTS)
# What a launch says of its single batches: each is at most the next.
_OF_BATCHES = ("batch_p50_seconds", "batch_p99_seconds", "batch_p999_seconds", "batch_max_seconds")
_FIRST_BATCH = "first_batch_seconds"


def judged(record: Record) -> Iterator[Contradiction]:
    """The gate's check of the times says what the times say."""
    check = next((each for each in record.gate if each.check == "times"), None)
    if check is None or record.measurement is None:
        return
    # The first schema does not say which metric is the headline.
    headlines = [record.work.headline] if record.work else list(record.metrics)
    found = [
        times_verdict(each, record.metrics, record.parameters, wall_seconds=float(record.launch.wall_seconds))
        for each in headlines
    ]
    if (check.passed, check.detail) not in found:
        yield contradiction(
            f'the gate says "{check.detail}" of the times, and they are "{found[0].detail}"',
            *("gate", f"measurement.metrics.{headlines[0]}", "launch.wall_seconds"),
        )


def lived(record: Record) -> Iterator[Contradiction]:
    """Whatever a launch that passed says of its own seconds, they passed while it lived."""
    if record.failure:
        return
    most = record.launch.wall_seconds * ROUNDING
    for name in _OF_THE_LAUNCH:
        seconds = sum(record.values(name))
        if seconds > most:
            yield contradiction(
                f"{name} adds up to {seconds:.6g} s, and the launch lived {record.launch.wall_seconds:.6g} s",
                *(f"measurement.metrics.{name}", "launch.wall_seconds"),
            )


def program(record: Record) -> Iterator[Contradiction]:
    """A program was compiled within a day, and its launch has the memory for it."""
    seconds, size = record.values("compile_seconds"), record.values("program_bytes")
    if any(not 0 < each <= _LONGEST_COMPILATION for each in seconds):
        yield contradiction(
            f"compile_seconds is {seconds[0]:.6g}, and a compilation takes more than nothing and less than a day",
            "measurement.metrics.compile_seconds",
        )
    if any(not 0 < each <= record.launch.limits.memory_bytes for each in size):
        yield contradiction(
            f"program_bytes is {size[0]:.6g}, and a launch has {record.launch.limits.memory_bytes} bytes of memory",
            *("measurement.metrics.program_bytes", "launch.limits.memory_bytes"),
        )


def parts(record: Record) -> Iterator[Contradiction]:
    """A training's own whole holds its parts."""
    if record.failure or not all(name in record.metrics for name in (_WHOLE, *_PARTS)):
        return
    whole, inside = sum(record.values(_WHOLE)), sum(sum(record.values(name)) for name in _PARTS)
    if inside > whole * ROUNDING:
        yield contradiction(
            f"{' and '.join(_PARTS)} add up to {inside:.6g} s, and {_WHOLE} is {whole:.6g} s",
            *(f"measurement.metrics.{name}" for name in (_WHOLE, *_PARTS)),
        )


def batches(record: Record) -> Iterator[Contradiction]:
    """Percentiles of batches ascend, and no batch took longer than all timed calls together."""
    timed = claimed_seconds(record.metrics.get(_SECONDS), calls=calls_of(record.parameters)) * ROUNDING
    for names in (_OF_BATCHES, (_FIRST_BATCH,)):
        said = [(name, value) for name in names for value in record.values(name)]
        for (name, value), (larger, most) in pairwise([*said, (_SECONDS, timed)]):
            if value > most:
                yield contradiction(
                    f"{name} is {value:.6g}, and {larger} is only {most:.6g}",
                    *(f"measurement.metrics.{each}" for each in (name, larger)),
                )


RULES: tuple[Rule, ...] = (
    judged,
    lived,
    parts,
    program,
    batches,
)
