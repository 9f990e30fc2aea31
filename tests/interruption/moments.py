"""When a fault strikes: a seeded point of a stage, found by what the run says and writes, not by the clock alone."""

import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from tests.interruption.calls import BEGUN, ENDED, FINISHED, Call

# Drawn evenly: judging and storing take milliseconds of a run, and are where a crash could do harm.
STAGES = ("prepare", "launch", "judge", "store", "render", "anywhere")
# Before this the interpreter itself starts, and nothing of ours has run.
_EARLIEST_SECONDS = 0.1
_POLL_SECONDS = 0.001


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """How an uninterrupted run went, in seconds since its start."""

    begun: float
    launch_seconds: float
    launches: int
    records: int
    ended: float
    duration: float

    @classmethod
    def of(cls, call: Call, duration: float, records: int) -> "Timeline":
        """Of a call that is over."""
        (begun, *_), finished, (ended, *_) = (call.said(each) for each in (BEGUN, FINISHED, ENDED))
        steps = [after - before for before, after in zip([begun, *finished], finished, strict=False)]
        return cls(
            begun=begun,
            launch_seconds=statistics.median(steps),
            launches=len(finished),
            records=records,
            ended=ended,
            duration=duration,
        )


@dataclass(frozen=True, kw_only=True)
class Moment:
    """``delay`` seconds after the ``ordinal``-th event of its stage."""

    stage: str
    ordinal: int
    delay: float

    def __str__(self) -> str:
        return f"{self.stage} {self.ordinal} +{1000 * self.delay:.0f} ms"


def draw(chance: random.Random, timeline: Timeline) -> Moment:
    """A moment of a run that goes like ``timeline``."""
    stage = chance.choice(STAGES)
    if stage == "prepare":
        return Moment(stage=stage, ordinal=0, delay=chance.uniform(_EARLIEST_SECONDS, timeline.begun))
    if stage == "launch":
        ordinal = chance.randrange(timeline.launches)
        return Moment(stage=stage, ordinal=ordinal, delay=chance.uniform(0, timeline.launch_seconds))
    if stage == "judge":
        return Moment(
            stage=stage, ordinal=1 + chance.randrange(timeline.launches), delay=chance.uniform(0, 0.01)
        )
    if stage == "store":
        return Moment(
            stage=stage, ordinal=1 + chance.randrange(timeline.records), delay=chance.uniform(0, 0.02)
        )
    if stage == "render":
        return Moment(stage=stage, ordinal=0, delay=chance.uniform(0, timeline.duration - timeline.ended))
    return Moment(stage=stage, ordinal=0, delay=chance.uniform(_EARLIEST_SECONDS, timeline.duration))


def wait_for(moment: Moment, call: Call, results: Path) -> bool:
    """Return at the moment; False if the call ended before it came."""
    while not _has_come(moment, call, results):
        if not call.running:
            return False
        time.sleep(_POLL_SECONDS)
    time.sleep(moment.delay)
    return call.running


def _has_come(moment: Moment, call: Call, results: Path) -> bool:
    if moment.stage == "launch":
        return bool(call.said(BEGUN)) and len(call.said(FINISHED)) >= moment.ordinal
    if moment.stage == "judge":
        # A launch's log is the first thing that is written of it.
        return _count(results / "logs", ".log") >= moment.ordinal
    if moment.stage == "store":
        return _count(results / "records" / "double", ".json") >= moment.ordinal
    if moment.stage == "render":
        return bool(call.said(ENDED))
    return True


def _count(directory: Path, suffix: str) -> int:
    try:
        return sum(path.suffix == suffix for path in directory.iterdir())
    except FileNotFoundError:
        return 0
