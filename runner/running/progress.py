"""The messages of a running run: one moving line with an ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from runner.planning.estimates import Durations, duration
from runner.planning.planned import Launch
from runner.records.record import Record
from runner.system import terminal
from runner.system.printable import one_line

_SHORTEST_NAME = 12


class Progress:
    """Writes to one stream, stderr by default: stdout is for results."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._moves = terminal.moves(self._stream)
        self._durations = Durations()
        self._launches: Sequence[Launch] = ()
        self._done = 0
        self._started = 0.0
        self._shown = 0

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
        self._launches, self._done = launches, 0
        if not launches:
            return
        self._durations = Durations(records, machines=machines)
        word = "launch" if len(launches) == 1 else "launches"
        self.say(f"{len(launches)} {word} to run, {self._durations.total(launches)}")

    def start(self, launch: Launch) -> None:
        """A launch begins."""
        del launch
        self._started = time.monotonic()
        self.within(0.0)

    def within(self, share: float) -> None:
        """Show the finished share of the current launch, from 0 to 1."""
        if not self._moves or self._done >= len(self._launches):
            return
        # The last column stays free: some terminals break the line as soon as it is written.
        width = (terminal.width_of(self._stream) or 80) - 1
        line = self._line(share, width)
        self._stream.write(f"\r{line:<{min(self._shown, width)}}")
        self._stream.flush()
        self._shown = len(line)

    def finish(self, launch: Launch, records: Sequence[Record]) -> None:
        """A launch ended and is stored."""
        seconds = time.monotonic() - self._started
        self._done += 1
        failed = [(record.case, record.failure) for record in records if record.failure is not None]
        if not failed:
            self._durations.learn(launch, seconds)
        alarm = f"FAILED: {failed[0][1].kind}" if failed else ""
        self.say(
            f"[{self._done}/{len(self._launches)}] {launch}  {seconds:.1f} s  {alarm or 'ok'}", alarm=alarm
        )
        for case, failure in failed:
            self.say(f"    {case}: {one_line(failure.detail, 300)}")

    def end(self) -> None:
        """The last launch is done."""
        self._erase()

    def _line(self, share: float, width: int) -> str:
        """The moving line. On a narrow terminal the launch's name is cut first; then the time is left out."""
        head, tail = f"[{self._done + 1}/{len(self._launches)}] ", f" {100 * share:3.0f} %"
        room = width - len(head) - len(tail) - _SHORTEST_NAME
        tail += next(left for left in (*self._left(share), "") if len(left) <= max(0, room))
        label = terminal.shorten(str(self._launches[self._done]), width - len(head) - len(tail))
        return f"{head}{label}{tail}"[:width]

    def _left(self, share: float) -> Iterator[str]:
        """The estimated time to the end, in a longer and a shorter wording; empty where it is unknown."""
        current, *ahead = self._launches[self._done :]
        total = self._durations.total(ahead)
        estimate = self._durations.of(current)
        seconds = total.seconds + (estimate.seconds * (1 - share) if estimate else 0.0)
        unknown = total.unknown + (estimate is None)
        if unknown == total.launches + 1:
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
