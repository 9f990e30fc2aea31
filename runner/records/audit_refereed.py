"""What the referee saw: its windows lie within the launch, and the claims within the last window."""

from collections.abc import Iterator

from runner.records.contradiction import ROUNDING, Contradiction, Rule, contradiction
from runner.records.record import Record
from runner.records.refereed import (
    MOST_BETWEEN,
    MOST_VOID,
    SIZES,
    TIMES_THE_CHANNEL,
    RefereeFacts,
    numbered,
)
from runner.records.verdicts import audit_verdict, calls_of, claimed_seconds, replay_words, window_words

# Of one implementation, from round to round; a busy machine takes a ranked round ten times as long as another.
_TIMES_AS_FAST = 100
# The kernel counts processor time by its own ticks.
_TICKS_SECONDS, _TICKS_SHARE = 0.1, 1.05


def led(record: Record) -> Iterator[Contradiction]:
    """A referee leads the launches of work that has one."""
    if record.referee and not (record.work and record.work.refereed):
        yield contradiction("a referee led the launch of work without one", "referee", "work.refereed")
    if record.work and record.work.refereed and not record.referee and not record.failure:
        yield contradiction("the work has a referee, and the cell passed without one", "referee", *_WORK)


def windows(record: Record) -> Iterator[Contradiction]:
    """Everything that the referee saw lies within the launch."""
    seen = record.referee
    if not seen:
        return
    whole = sum(each.seconds for each in seen.windows) + seen.ready_seconds + seen.channel_seconds
    whole += seen.audit.seconds if seen.audit else 0
    if whole > record.launch.wall_seconds * ROUNDING:
        yield contradiction(
            f"windows, start and channel add up to {whole:.6g} s, and the launch lived "
            f"{record.launch.wall_seconds:.6g} s",
            *("referee.windows", "referee.ready_seconds", "referee.channel_seconds", "launch.wall_seconds"),
        )
    if seen.void_windows > MOST_VOID:
        yield contradiction(
            f"{seen.void_windows} windows were opened again, of at most {MOST_VOID}", "referee.void_windows"
        )
    if seen.windows[0].repetitions != 1:
        yield contradiction(
            f"the first window had {seen.windows[0].repetitions} repetitions, and it has 1", "referee.windows"
        )
    if seen.windows[-1].repetitions not in SIZES:
        yield contradiction(
            f"the ranked round had {seen.windows[-1].repetitions} repetitions, of the sizes {SIZES}",
            "referee.windows",
        )
    yield from _rounds(record, seen)


def _rounds(record: Record, seen: RefereeFacts) -> Iterator[Contradiction]:
    """What is seen of each round."""
    cpus = (record.launch.limits.cpuset or "").count(",") + 1
    for index, each in enumerate(seen.windows):
        if not record.failure and each.between_seconds > each.seconds * ROUNDING:
            yield contradiction(
                f"{each.between_seconds:.6g} s between repetitions are claimed of {each.seconds:.6g} s",
                *(f"referee.windows.{index}.between_seconds", f"referee.windows.{index}.seconds"),
            )
        if (each.cpu_seconds or 0) > each.seconds * cpus * _TICKS_SHARE + _TICKS_SECONDS:
            yield contradiction(
                f"{each.cpu_seconds:.6g} s of processor time passed in {each.seconds:.6g} s on {cpus} CPUs",
                *(f"referee.windows.{index}.cpu_seconds", f"referee.windows.{index}.seconds"),
            )
        if (each.stolen_seconds or 0) > each.seconds * cpus * _TICKS_SHARE + _TICKS_SECONDS:
            yield contradiction(
                f"{each.stolen_seconds:.6g} s were stolen of {each.seconds:.6g} s on {cpus} CPUs",
                *(f"referee.windows.{index}.stolen_seconds", f"referee.windows.{index}.seconds"),
            )


def asked(record: Record) -> Iterator[Contradiction]:
    """Repetitions are asked for in order, each once."""
    if record.referee and list(record.referee.asked) != sorted(set(record.referee.asked)):
        yield contradiction("the repetitions that were asked for are not in order, each once", *_ASKED)
    if record.referee and not {*record.referee.asked} & {*numbered(record.referee.windows[-1].repetitions)}:
        yield contradiction("no repetition of the ranked round was asked for", *_ASKED, "referee.windows")


def claims(record: Record) -> Iterator[Contradiction]:
    """What is claimed is claimed of the last window, and the gate's word on it follows."""
    if not record.referee or not record.work or record.measurement is None:
        return
    last, values = record.referee.windows[-1], record.metrics.get(record.work.headline)
    if isinstance(values, tuple) and len(values) != last.repetitions:
        yield contradiction(
            f"{record.work.headline} holds {len(values)} times, and the last window {last.repetitions} repetitions",
            *(f"measurement.metrics.{record.work.headline}", "referee.windows"),
        )
    check = next((each for each in record.gate if each.check == "window"), None)
    if check is None:
        return
    timed = claimed_seconds(record.metrics.get(record.work.headline), calls=calls_of(record.parameters))
    words = window_words(timed=timed, between=last.between_seconds, window=last.seconds)
    if not check.detail.startswith(words) or (check.passed and check.detail != words):
        yield contradiction(f'the gate says "{check.detail}" of the window, and it is "{words}"', *_WINDOW)
    if check.passed:
        yield from _fits(record.referee, timed)


def audited(record: Record) -> Iterator[Contradiction]:
    """The gate's word on a training with an unknown seed follows from what was seen of it."""
    seen = record.referee
    if not seen or not seen.audit or record.failure or not record.work:
        return
    audit, telling = seen.audit, seen.audit.seconds >= TIMES_THE_CHANNEL * seen.channel_seconds
    verdict = audit_verdict(
        seed=audit.seed,
        timed=audit.timed_seconds,
        known=claimed_seconds(record.metrics.get(record.work.headline), calls=1),
        telling=telling,
    )
    check = next((each for each in record.gate if each.check == "audit"), None)
    if check is not None and (not verdict.passed or check.detail != verdict.detail):
        yield contradiction(
            f'the gate says "{check.detail}" of the audit, and it is "{verdict.detail}"', *_AUDIT
        )
    if audit.timed_seconds + audit.between_seconds > audit.seconds * ROUNDING:
        yield contradiction(
            f"{audit.timed_seconds + audit.between_seconds:.6g} s are claimed of an audit of {audit.seconds:.6g} s",
            *_AUDIT,
        )
    is_reference = record.implementation == record.work.reference.implementation
    if telling and not is_reference and audit.between_seconds > MOST_BETWEEN * audit.seconds:
        yield contradiction(
            f"the audit passed, and {audit.between_seconds:.6g} s of its {audit.seconds:.6g} s were not timed",
            *_AUDIT,
        )


def replayed(record: Record) -> Iterator[Contradiction]:
    """The gate's word on a replay follows from the episodes, and from what the final weights earned."""
    weights = (record.referee and record.referee.final_weights) or None
    check = next((each for each in record.gate if each.check == "replay"), None)
    if check is None or not check.passed:
        if weights is not None:
            yield contradiction("the final weights were played, and nothing was replayed", *_REPLAY)
        return
    words = replay_words(
        steps=record.expected_counts.get("environment_steps", 0), episodes=len(record.played), weights=weights
    )
    if record.episodes is not None and check.detail != words:
        yield contradiction(f'the gate says "{check.detail}" of the replay, and it is "{words}"', *_REPLAY)


def rates(record: Record) -> Iterator[Contradiction]:
    """A repetition does the same work in each round, so that no round is many times as fast as the ranked one."""
    if not record.referee or not record.work or record.failure:
        return
    headline = record.work.headline
    fastest = min(record.values(headline), default=0.0) * calls_of(record.parameters)
    for index, each in enumerate(record.referee.windows):
        if each.seconds * _TIMES_AS_FAST < each.repetitions * fastest:
            yield contradiction(
                f"{each.repetitions} repetitions took {each.seconds:.6g} s, and the fastest one of the ranked round "
                f"{fastest:.6g} s",
                *(f"referee.windows.{index}", f"measurement.metrics.{headline}"),
            )


def _fits(seen: RefereeFacts, timed: float) -> Iterator[Contradiction]:
    last = seen.windows[-1]
    if timed + last.between_seconds > last.seconds * ROUNDING:
        yield contradiction(
            f"{timed + last.between_seconds:.6g} s are claimed of a window of {last.seconds:.6g} s", *_WINDOW
        )


_WORK = ("work.refereed", "failure")
_ASKED = ("referee.asked",)
_WINDOW = ("gate", "referee.windows", "measurement.metrics")
_AUDIT = ("gate", "referee.audit", "measurement.metrics")
_REPLAY = ("gate", "referee.final_weights", "episodes")


RULES: tuple[Rule, ...] = (
    led,
    windows,
    asked,
    claims,
    audited,
    replayed,
    rates,
)
