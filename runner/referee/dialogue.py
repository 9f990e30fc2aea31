"""The referee of one launch: it opens each window, closes it, and asks for outputs afterwards.

It holds the clock: a window lasts from just before `go` is written to the moment at which `done` is read.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from runner.executors.channel import UNSEEN, Channel, Seen
from runner.records.failure import Failure, FailureKind
from runner.records.refereed import MOST_TIMES_THE_KNOWN, MOST_VOID, SIZES, numbered
from runner.referee import messages
from runner.referee.claims import Account, Claims
from runner.referee.messages import Done, Message, Progress, Ready, Written
from runner.referee.nonce import Draw
from runner.referee.sizes import REHEARSED, Plan, longer

# Round trips before the first window; the slowest of them bounds what the channel may have taken of a window.
ROUND_TRIPS = 100
# A window that says nothing is opened again, each time longer, where it would end in this time.
_MOST_SECONDS = 30.0
# One more window tells a busy moment from an implementation that always does too much beside the timed parts.
_MORE_WITH_TOO_MUCH_BETWEEN = 1
# So many pairs of trainings may be unequal before the implementation is called a cheat.
_MOST_AUDITS = 3


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a competitor's referee knows of the reference.

    Attributes:
        between_seconds: what the reference claims a repetition to cost beside its timed part; None if it is unknown.
        most_repetitions: the largest round for which there are outputs of the reference.
    """

    between_seconds: float | None = None
    most_repetitions: int = messages.MOST_REPETITIONS


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One case of a launch.

    Attributes:
        draw: what is drawn for it.
        plan: how it is repeated.
        claims: how its claims are read.
        reference: what is known of the reference; None for the reference itself, with whose outputs gates compare. It
            is asked for all that its competitors may be asked for.
        seed: of a training, which is told it when its window opens; None for an operation.
        audit_seed: of a second training that nobody could prepare; None where there is none.
    """

    draw: Draw
    plan: Plan
    claims: Claims
    reference: Reference | None
    seed: int | None = None
    audit_seed: int | None = None

    @property
    def between_seconds(self) -> float | None:
        """What the reference claims a repetition to cost beside its timed part; None for the reference."""
        return None if self.reference is None else self.reference.between_seconds

    @property
    def most_repetitions(self) -> int:
        """The largest round of which outputs can be compared."""
        return messages.MOST_REPETITIONS if self.reference is None else self.reference.most_repetitions


@dataclass(frozen=True, kw_only=True)
class Window:
    """One round as the referee saw it.

    Attributes:
        repetitions: their numbers.
        seconds: from just before `go` was written to when `done` was read.
        used: what the launch used within the window, read from outside.
        done: what the implementation claims.
    """

    repetitions: range
    seconds: float
    used: Seen
    done: Done

    @property
    def seconds_each(self) -> float:
        """What a repetition took."""
        return self.seconds / len(self.repetitions)

    def digest_of(self, repetition: int) -> str:
        """What was said of the outputs of a repetition."""
        return self.done.digests[self.repetitions.index(repetition)]

    def account(self, claims: Claims, *, channel_seconds: float, between_seconds: float | None) -> Account:
        """What is claimed of it; ``between_seconds`` is what the reference needs beside one timed repetition."""
        return Account(
            window=self.seconds,
            timed=claims.seconds(self.done),
            between=self.done.between_seconds,
            channel=channel_seconds,
            reference=None if between_seconds is None else between_seconds * len(self.repetitions),
            computed=self.used.cpu_seconds if self.used.is_all else None,
        )


@dataclass(frozen=True, kw_only=True)
class Audit:
    """A training with a seed that nobody could know, after the one that is ranked.

    Attributes:
        seed: that seed.
        window: its only round.
    """

    seed: int
    window: Window


@dataclass(frozen=True, kw_only=True)
class Refereed:
    """What the referee saw of one case.

    Attributes:
        draw: what was drawn.
        windows: of each round, the ranked one last.
        void_windows: how many were opened again, because the claims did not fit, the window was too short or an audit
            was slow. A busy machine, or a runner that was stopped, takes a moment from any window; a liar is one in each.
        asked: the repetitions whose outputs were asked for.
        most_repetitions: of the largest round for which outputs were asked for.
        peak_bytes: the peak resident set of its processes after the last window, read from outside; None if unknown.
        audit: the training with an unknown seed; None where there was none.
    """

    draw: Draw
    windows: tuple[Window, ...]
    void_windows: int
    asked: tuple[int, ...]
    most_repetitions: int
    peak_bytes: int | None
    audit: Audit | None = None

    @property
    def ranked(self) -> Window:
        """The round whose claims are ranked."""
        return self.windows[-1]

    @property
    def audited(self) -> range:
        """The repetitions that an audit had written. They are judged and not kept: no other run makes them again."""
        end = self.ranked.repetitions.stop
        return range(end, end if self.audit is None else self.audit.window.repetitions.stop)


class _Broken(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


_Kind = TypeVar("_Kind", Ready, Done, Written)
_Heard = tuple[Message, float]
_Script = Generator[None, _Heard, Any]


@dataclass
class Dialogue:
    """Leads a launch through all of its cases. An executor calls `opened` once and `heard` for each line."""

    cases: Mapping[str, Assignment]
    on_progress: Callable[[float], None]
    seen: dict[str, Refereed] = field(default_factory=dict)
    round_trips: list[float] = field(default_factory=list)
    ready_seconds: float = 0.0
    failure: Failure | None = None

    def __post_init__(self) -> None:
        """Stand before the first message."""
        self._opened_at = 0.0
        self._channel: Channel | None = None
        self._script: Generator[None, _Heard, None] | None = None

    def opened(self, channel: Channel) -> None:
        """Begin: the process has started and listens."""
        self._opened_at = time.monotonic()
        self._channel = channel
        self._script = self._lead(channel)
        next(self._script)

    def heard(self, text: str, at: float) -> None:
        """Take a line that was read at ``at`` (time.monotonic). What breaks the protocol ends the conversation."""
        if not text.strip() or self.failure is not None:
            return
        message = messages.parse(text)
        if isinstance(message, Progress):
            self.on_progress(min(1.0, message.done / message.total))
        elif isinstance(message, Failure):
            self._end(message)
        elif self._script is None:
            self._end(messages.malformed(f"said {_name(message)} after the end of the conversation"))
        else:
            self._hand(message, at, self._script)

    def measurement(self, case: str) -> dict[str, Any] | None:
        """What the ranked round of a case claims, as a measurement; None where the referee did not get so far."""
        refereed = self.seen.get(case)
        if refereed is None:
            return None
        # Lists as JSON has them, not as a frozen type does.
        done = json.loads(msgspec.json.encode(refereed.ranked.done))
        return {"event": "measurement"} | {
            name: done[name] for name in ("case", "metrics", "counts", "memory")
        }

    def failure_of(self, case: str) -> Failure | None:
        """Why this case has no windows, or None."""
        if self.failure is None and case not in self.seen:
            return Failure(
                kind=FailureKind.MISSING_MEASUREMENT,
                detail="ended well before the referee was through with this case",
            )
        return self.failure

    @property
    def channel_seconds(self) -> float:
        """The slowest round trip; 0 where none was made."""
        return max(self.round_trips, default=0.0)

    def _hand(self, message: Message, at: float, script: Generator[None, _Heard, None]) -> None:
        try:
            script.send((message, at))
        except _Broken as broken:
            self._end(broken.failure)
        except StopIteration:
            self._end(None)

    def _end(self, failure: Failure | None) -> None:
        self.failure, self._script = failure, None
        if self._channel is not None:
            self._channel.close()

    def _lead(self, channel: Channel) -> Generator[None, _Heard, None]:
        _, ready_at = yield from _expect(Ready)
        self.ready_seconds = max(0.0, ready_at - self._opened_at)
        for name, assignment in self.cases.items():
            if not self.round_trips:
                for _ in range(ROUND_TRIPS):
                    window = yield from self._round(channel, name, assignment, range(0))
                    self.round_trips.append(window.seconds)
            self.seen[name] = yield from self._case(channel, name, assignment)

    def _case(self, channel: Channel, name: str, assignment: Assignment) -> Generator[None, _Heard, Refereed]:
        windows = yield from self._rehearse(channel, name, assignment)
        for attempt in range(_MOST_AUDITS):
            ranked, void = yield from self._rank(channel, name, assignment, windows)
            peak = channel.peak_bytes()
            sizes = self._sizes(assignment, ranked)
            asked = {each for size in sizes for each in assignment.draw.repetitions_of(numbered(size))}
            asked |= {*assignment.draw.handed}
            yield from self._ask(channel, name, assignment, sorted(asked))
            audit = yield from self._audit(channel, name, assignment, ranked, attempt)
            if audit is None or not _is_slow(audit, ranked, assignment.claims):
                break
        return Refereed(
            draw=assignment.draw,
            windows=(*windows, ranked),
            void_windows=void + attempt,
            asked=tuple(sorted(asked)),
            most_repetitions=max(sizes),
            peak_bytes=peak,
            audit=audit,
        )

    def _ask(
        self, channel: Channel, name: str, assignment: Assignment, repetitions: Sequence[int]
    ) -> Generator[None, _Heard, None]:
        """Have the outputs of some repetitions written."""
        channel.send(messages.outputs(name, assignment.draw.nonce, repetitions))
        written, _ = yield from _expect(Written)
        _require_case(written.case, name)

    def _audit(
        self, channel: Channel, name: str, assignment: Assignment, ranked: Window, attempt: int
    ) -> Generator[None, _Heard, Audit | None]:
        """A training with another seed, which takes as long where nothing was prepared for the known one.

        A busy machine may make it slow. Then both are done again, the known seed's first: its last training is the one
        that is ranked, so who slows it down gains nothing.
        """
        if assignment.audit_seed is None:
            return None
        number, seed = ranked.repetitions.stop + attempt, assignment.audit_seed + attempt
        window = yield from self._round(channel, name, assignment, range(number, number + 1), seed)
        yield from self._ask(channel, name, assignment, [number])
        return Audit(seed=seed, window=window)

    def _rehearse(
        self, channel: Channel, name: str, assignment: Assignment
    ) -> Generator[None, _Heard, tuple[Window, ...]]:
        """The rounds before the ranked one: one repetition, and those that warm up."""
        if not assignment.plan.repeated:
            return ()
        first = yield from self._round(channel, name, assignment, range(REHEARSED, REHEARSED + 1))
        count = assignment.plan.warm_up(first.seconds)
        if not count:
            return (first,)
        begin = first.repetitions.stop
        return first, (yield from self._round(channel, name, assignment, range(begin, begin + count)))

    def _rank(
        self, channel: Channel, name: str, assignment: Assignment, rehearsed: tuple[Window, ...]
    ) -> Generator[None, _Heard, tuple[Window, int]]:
        """The ranked round, and how many windows were void before it."""
        plan, most = assignment.plan, assignment.most_repetitions
        seconds = rehearsed[-1].seconds_each if rehearsed else 0.0
        size = plan.ranked_round(seconds, channel_seconds=self.channel_seconds, most=most)
        void = with_too_much_between = 0
        while True:
            window = yield from self._round(channel, name, assignment, numbered(size))
            account = window.account(
                assignment.claims,
                channel_seconds=self.channel_seconds,
                between_seconds=assignment.between_seconds,
            )
            again = longer(size)
            with_too_much_between += account.too_much_between
            last = (
                void == MOST_VOID
                or with_too_much_between > _MORE_WITH_TOO_MUCH_BETWEEN
                or size >= most
                or again * window.seconds_each > _MOST_SECONDS
            )
            # More claimed than passed is no noise.
            if account.sound or account.overdrawn or not plan.repeated or last:
                return window, void
            void, size = void + 1, again

    def _sizes(self, assignment: Assignment, ranked: Window) -> tuple[int, ...]:
        """The sizes of rounds of which outputs are asked for."""
        if assignment.reference is not None:
            return (len(ranked.repetitions),)
        plan = assignment.plan
        found = {
            *plan.sizes(ranked.seconds_each, channel_seconds=self.channel_seconds),
            len(ranked.repetitions),
        }
        # A competitor may have any size up to the largest, so none between two may be left out.
        between = (size for size in SIZES if min(found) < size < max(found))
        return tuple(sorted({*found, *between}))

    def _round(
        self,
        channel: Channel,
        name: str,
        assignment: Assignment,
        repetitions: range,
        audit_seed: int | None = None,
    ) -> Generator[None, _Heard, Window]:
        seed = assignment.seed if audit_seed is None else audit_seed
        before = channel.look() if repetitions else UNSEEN
        began = channel.send(messages.go(name, assignment.draw.nonce, repetitions, seed=seed))
        done, ended = yield from _expect(Done)
        after = channel.look() if repetitions else UNSEEN
        _require_case(done.case, name)
        _require_claims(done, repetitions)
        if ended < began:
            raise _Broken(messages.malformed("said done before go"))
        return Window(
            repetitions=repetitions,
            seconds=ended - began,
            used=after.since(before),
            done=done,
        )


def _is_slow(audit: Audit, ranked: Window, claims: Claims) -> bool:
    """Whether a training took much longer with a seed that nobody knew."""
    return claims.seconds(audit.window.done) > MOST_TIMES_THE_KNOWN * claims.seconds(ranked.done)


def _expect(kind: type[_Kind]) -> Generator[None, _Heard, tuple[_Kind, float]]:
    message, at = yield
    if not isinstance(message, kind):
        raise _Broken(messages.malformed(f"said {_name(message)} where {kind.__name__.lower()} was due"))
    return message, at


def _name(message: Message) -> str:
    return type(message).__name__.lower()


def _require_case(said: str, wanted: str) -> None:
    if said != wanted:
        raise _Broken(messages.malformed(f'spoke of the case "{said}" where "{wanted}" was asked for'))


def _require_claims(done: Done, repetitions: range) -> None:
    lists = {name: len(value) for name, value in done.metrics.items() if isinstance(value, tuple)}
    for name, count in {**lists, "digests": len(done.digests)}.items():
        if count != len(repetitions):
            detail = f"{name} holds {count} entries for a round of {len(repetitions)} repetitions"
            raise _Broken(messages.malformed(detail))
    for name, claimed in (("metrics", done.metrics), ("counts", done.counts)):
        if repetitions and not claimed:
            raise _Broken(messages.malformed(f"{name} is empty for a round with repetitions"))
