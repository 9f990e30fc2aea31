"""The messages of a running run: one moving line with an ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from runner.planning.estimates import Durations, duration
from runner.planning.planned import Launch, by_machine
from runner.records.record import Record
from runner.system import terminal
from runner.system.printable import one_line

_SHORTEST_NAME = 12


class Audience(Protocol):
    """What a launch tells of itself while it goes on."""

    def say(self, text: str) -> None:
        """A line for the user."""

    def start(self, launch: Launch) -> None:
        """A launch begins."""

    def within(self, share: float) -> None:
        """The finished share of the current launch, from 0 to 1."""

    def finish(self, launch: Launch, records: Sequence[Record]) -> None:
        """A launch ended and is stored."""


@dataclass
class _Running:
    """A launch that has begun, by the monotonic clock, and its finished share."""

    launch: Launch
    began: float
    share: float = 0.0


class Progress:
    """Writes to one stream, stderr by default: stdout is for results."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._durations = Durations()
        self._count = self._done = 0
        # By the machine: its launches follow one another, and those of several machines run at the same time.
        self._ahead: dict[str, list[Launch]] = {}
        self._running: dict[str, _Running] = {}
        self._shown = 0
        self.moves = terminal.moves(self._stream)

    def say(self, text: str, *, alarm: str = "") -> None:
        """Print a separate line, broken at the terminal's width. ``alarm`` is the part to be seen first."""
        self._erase()
        shown = terminal.wrap(text, terminal.width_of(self._stream))
        if alarm:
            # Colour is added after breaking lines, because its codes take no columns.
            shown = shown.replace(alarm, terminal.red(alarm, self._stream))
        self._stream.write(shown + "\n")
        self._stream.flush()

    def begin(
        self,
        launches: Sequence[Launch],
        records: Sequence[Record],
        *,
        machines: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Learn the durations of launches from earlier ``records`` on each platform's machine (None: this machine)."""
        self._count, self._done, self._running = len(launches), 0, {}
        self._ahead = {machine: list(queue) for machine, queue in by_machine(launches).items()}
        if not launches:
            return
        self._durations = Durations(records, machines=machines)
        word = "launch" if len(launches) == 1 else "launches"
        where = f" on {len(self._ahead)} machines" if len(self._ahead) > 1 else ""
        self.say(f"{len(launches)} {word} to run{where}, {self._durations.longest(self._ahead.values())}")

    def start(self, launch: Launch) -> None:
        """A launch begins."""
        machine = launch.first.platform.machine
        self._running[machine] = _Running(launch, began=time.monotonic())
        if launch in (ahead := self._ahead.get(machine, [])):
            # Those before it were not run.
            del ahead[: ahead.index(launch) + 1]
        self.within(0.0, launch)

    def within(self, share: float, launch: Launch | None = None) -> None:
        """Show the finished share of a running launch, from 0 to 1; of the only one where none is named."""
        running = list(self._running.values())
        if launch is not None:
            running = [each for each in running if each.launch == launch]
        for each in running:
            each.share = share
        if not self.moves or not running:
            return
        # The last column stays free: some terminals break the line as soon as it is written.
        width = (terminal.width_of(self._stream) or 80) - 1
        line = self._line(width)
        self._stream.write(f"\r{line:<{min(self._shown, width)}}")
        self._stream.flush()
        self._shown = len(line)

    def finish(self, launch: Launch, records: Sequence[Record]) -> None:
        """A launch ended and is stored."""
        running = self._running.pop(launch.first.platform.machine, None)
        seconds = 0.0 if running is None else time.monotonic() - running.began
        self._done += 1
        failed = [(record.case, record.failure) for record in records if record.failure is not None]
        if not failed:
            self._durations.learn(launch, seconds)
        alarm = f"FAILED: {failed[0][1].kind}" if failed else ""
        self.say(f"[{self._done}/{self._count}] {launch}  {seconds:.1f} s  {alarm or 'ok'}", alarm=alarm)
        for case, failure in failed:
            self.say(f"    {case}: {one_line(failure.detail, 300)}")

    def end(self) -> None:
        """The last launch is done."""
        self._erase()

    def _line(self, width: int) -> str:
        """The moving line. On a narrow terminal names are cut first; then the time is left out."""
        running = list(self._running.values())
        head = f"[{self._done + 1}/{self._count}] "
        tail = f" {100 * running[-1].share:3.0f} %"
        room = width - len(head) - len(tail) - _SHORTEST_NAME
        tail += next(left for left in (*self._left(), "") if len(left) <= max(0, room))
        names = [f"{each.launch} {100 * each.share:3.0f} % | " for each in running[:-1]]
        label = terminal.shorten(f"{''.join(names)}{running[-1].launch}", width - len(head) - len(tail))
        return f"{head}{label}{tail}"[:width]

    def _left(self) -> Iterator[str]:
        """The estimated time to the end, in a longer and a shorter wording; empty where it is unknown."""
        seconds, unknown, known = 0.0, 0, False
        for machine in self._ahead.keys() | self._running.keys():
            total = self._durations.total(self._ahead.get(machine, ()))
            running = self._running.get(machine)
            estimate = running and self._durations.of(running.launch)
            left = estimate.seconds * (1 - running.share) if running and estimate else 0.0
            seconds = max(seconds, total.seconds + left)
            unknown += total.unknown + (running is not None and estimate is None)
            known |= total.unknown < total.launches or estimate is not None
        if not known:
            return
        if unknown:
            yield f", {duration(seconds)} + {unknown} unknown left"
            yield f", {duration(seconds)} + {unknown}"
        else:
            yield f", {duration(seconds)} left"
            yield f", {duration(seconds)}"

    def _erase(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._shown = 0
