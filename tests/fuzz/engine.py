"""The loop: a bounded time for all, and for each execution a bounded time and growth of memory."""

import random
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import TARGETS, Target

# The peak of the process only ever grows: one execution may raise it by so much.
_MOST_GROWTH_KIB = 512 * 2**10


@dataclass(frozen=True)
class Finding:
    """An input, and what came of it that is not allowed."""

    target: str
    data: bytes
    what: str
    where: str


@dataclass
class Outcome:
    """What a run did."""

    executions: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


class TookTooLong(BaseException):
    """Not an Exception: nobody on the way may take it for his own."""


def fuzz(
    seconds: float, seed: int, targets: Sequence[Target] = TARGETS, *, unchanged: int | None = None
) -> Outcome:
    """Feed the targets with mutated inputs until the time is up; the same finding is kept once.

    Args:
        seconds: how long in all.
        seed: of the mutations. How far it gets in the time depends on the machine.
        targets: what is fed.
        unchanged: how many inputs of each target are fed first as they are; all where None.
    """
    draw = random.Random(seed)  # noqa: S311 (mutations, not secrets)
    outcome = Outcome()
    seen: set[tuple[str, str]] = set()
    chosen = [target for target in targets for _ in range(target.weight)]
    start = time.monotonic()
    first = [(target, data) for target in targets for data in target.seeds()[:unchanged]]
    while first or time.monotonic() - start < seconds:
        target, data = first.pop() if first else (picked := draw.choice(chosen), picked.draw(draw))
        finding = execute(target, data, outcome)
        if finding is not None and (target.name, finding.where) not in seen:
            seen.add((target.name, finding.where))
            outcome.findings.append(finding)
    return outcome


def execute(target: Target, data: bytes, outcome: Outcome) -> Finding | None:
    """One execution; what is not allowed about it, or None."""
    before = _resident_kib()
    started = time.monotonic()
    finding = None
    try:
        with _at_most(target.seconds):
            target.run(data)
    except (Exception, TookTooLong) as error:  # noqa: BLE001 (any of them is a finding)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {last.filename}:{last.lineno}"
        what = "".join(traceback.format_exception(error))
        finding = Finding(target=target.name, data=data, what=what, where=where)
    grown = _peak_kib() - before
    if grown > _MOST_GROWTH_KIB:
        finding = Finding(target=target.name, data=data, what=f"{grown // 1024} MiB more", where="memory")
    outcome.executions[target.name] += 1
    took = time.monotonic() - started
    outcome.slowest[target.name] = max(took, outcome.slowest.get(target.name, 0.0))
    return finding


def _resident_kib() -> int:
    """The memory that is resident now, from which the kernel counts a new peak: an earlier test's may be higher."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status_kib("VmRSS")


def _peak_kib() -> int:
    return _status_kib("VmHWM")


def _status_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TookTooLong(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
