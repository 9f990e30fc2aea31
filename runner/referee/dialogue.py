"""The referee of one launch: it opens each window, closes it, and asks for outputs afterwards.

It holds the clock: a window lasts from just before `go` is written to the moment at which `done` is read.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from runner.executors.channel import UNSEEN, Channel, Seen
from runner.records.failure import Failure, FailureKind
from runner.referee import messages
from runner.referee.claims import Account, Claims
from runner.referee.messages import Done, Message, Progress, Ready, Written
from runner.referee.nonce import Draw
from runner.referee.sizes import Plan, longer

# Round trips before the first window; the slowest of them bounds what the channel may have taken of a window.
ROUND_TRIPS = 100
# A window that says nothing is opened again, each time longer, so many times.
_MOST_VOID = 4


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One case of a launch.

    Attributes:
        draw: what is drawn for it.
        plan: how it is repeated.
        claims: how its claims are read.
        reference: whether gates compare with its outputs: it is asked for all that its competitors may be asked for.
        between_seconds: what the reference claims a repetition to cost beside its timed part; None for the reference.
    """

    draw: Draw
    plan: Plan
    claims: Claims
    reference: bool
    between_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Window:
    """One round as the referee saw it.

    Attributes:
        repetitions: how many the referee asked for.
        seconds: from just before `go` was written to when `done` was read.
        cpu_seconds: processor time of the launch within the window, read from outside; None where it cannot be.
        done: what the implementation claims.
    """

    repetitions: int
    seconds: float
    cpu_seconds: float | None
    done: Done

    def account(self, claims: Claims, *, channel_seconds: float, between_seconds: float | None) -> Account:
        """What is claimed of it; ``between_seconds`` is what the reference needs beside one timed repetition."""
        return Account(
            window=self.seconds,
            timed=claims.seconds(self.done),
            between=self.done.between_seconds,
            channel=channel_seconds,
            reference=None if between_seconds is None else between_seconds * self.repetitions,
        )


@dataclass(frozen=True, kw_only=True)
class Refereed:
    """What the referee saw of one case.

    Attributes:
        draw: what was drawn.
        windows: of each round, the ranked one last.
        void_windows: how many were opened again, because the claims did not fit. A busy machine, or a runner that was
            stopped, takes a moment from any window; a liar is one in each.
        asked: the repetitions whose outputs were asked for.
        after: what was seen from outside after the last window.
    """

    draw: Draw
    windows: tuple[Window, ...]
    void_windows: int
    asked: tuple[int, ...]
    after: Seen

    @property
    def ranked(self) -> Window:
        """The round whose claims are ranked."""
        return self.windows[-1]


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
                    window = yield from self._round(channel, name, assignment, 0)
                    self.round_trips.append(window.seconds)
            self.seen[name] = yield from self._case(channel, name, assignment)

    def _case(self, channel: Channel, name: str, assignment: Assignment) -> Generator[None, _Heard, Refereed]:
        plan = assignment.plan
        windows: list[Window] = []
        void = 0
        for planned in self._sizes(plan, windows):
            repetitions = planned
            for left in reversed(range(1 + _MOST_VOID)):
                window = yield from self._round(channel, name, assignment, repetitions)
                account = window.account(
                    assignment.claims,
                    channel_seconds=self.channel_seconds,
                    between_seconds=assignment.between_seconds,
                )
                if account.sound or not plan.ranked:
                    break
                void += left > 0
                repetitions = longer(repetitions)
            windows.append(window)
        after = channel.look()
        asked = self._asked(assignment, windows[-1].repetitions)
        channel.send(messages.outputs(name, assignment.draw.nonce, asked))
        written, _ = yield from _expect(Written)
        _require_case(written.case, name)
        return Refereed(
            draw=assignment.draw,
            windows=tuple(windows),
            void_windows=void,
            asked=asked,
            after=after,
        )

    def _sizes(self, plan: Plan, windows: list[Window]) -> Generator[int, None, None]:
        """The sizes of all rounds, each worked out when the one before it is over; the ranked one is the last."""
        if plan.ranked:
            yield 1
            warm_up = plan.warm_up(windows[-1].seconds)
            if warm_up:
                yield warm_up
            yield plan.ranked_round(
                windows[-1].seconds / windows[-1].repetitions, channel_seconds=self.channel_seconds
            )
        else:
            yield 1

    def _round(
        self, channel: Channel, name: str, assignment: Assignment, repetitions: int
    ) -> Generator[None, _Heard, Window]:
        before = channel.look() if repetitions else UNSEEN
        began = channel.send(messages.go(name, assignment.draw.nonce, repetitions))
        done, ended = yield from _expect(Done)
        after = channel.look() if repetitions else UNSEEN
        _require_case(done.case, name)
        _require_claims(done, repetitions)
        return Window(
            repetitions=repetitions,
            seconds=ended - began,
            cpu_seconds=_difference(before.cpu_seconds, after.cpu_seconds),
            done=done,
        )

    def _asked(self, assignment: Assignment, repetitions: int) -> tuple[int, ...]:
        sizes = assignment.plan.sizes() if assignment.reference else (repetitions,)
        asked = {each for size in sizes for each in assignment.draw.repetitions_of(size)}
        return tuple(sorted(asked | {*assignment.draw.handed}))


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


def _require_claims(done: Done, repetitions: int) -> None:
    lists = {name: len(value) for name, value in done.metrics.items() if isinstance(value, tuple)}
    for name, count in {**lists, "digests": len(done.digests)}.items():
        if count != repetitions:
            detail = f"{name} holds {count} entries for a round of {repetitions} repetitions"
            raise _Broken(messages.malformed(detail))


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)
