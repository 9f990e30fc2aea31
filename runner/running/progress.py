"""What a run says while it goes on: one moving line with an ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from runner.planning.estimates import Durations, duration
from runner.planning.plan import Launch
from runner.records.record import Record
from runner.records.store import Store
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
        """A line of its own, broken where the terminal ends; ``alarm`` is the part of it that is to be seen first."""
        self._erase()
        shown = terminal.wrap(text, terminal.width_of(self._stream))
        if alarm:
            # After the lines were broken: what switches a colour takes no room.
            shown = shown.replace(alarm, terminal.red(alarm, self._stream))
        self._stream.write(shown + "\n")
        self._stream.flush()

    def begin(
        self, launches: Sequence[Launch], store: Store, *, here: Mapping[str, Any] | None = None
    ) -> None:
        """Learn from earlier records how long such launches took on the machine that they run on, None for this."""
        self._launches, self._done = launches, 0
        if not launches:
            return
        self._durations = Durations(store.records(), here=here)
        word = "launch" if len(launches) == 1 else "launches"
        self.say(f"{len(launches)} {word} to run, {self._durations.total(launches)}")

    def start(self, launch: Launch) -> None:
        """A launch begins."""
        del launch
        self._started = time.monotonic()
        self.within(0.0)

    def within(self, share: float) -> None:
        """How much of the current launch is done, from 0 to 1."""
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
        failed = [record for record in records if record.failed]
        if not failed:
            self._durations.learn(launch, seconds)
        alarm = f"FAILED: {failed[0].data['failure']['kind']}" if failed else ""
        self.say(
            f"[{self._done}/{len(self._launches)}] {launch}  {seconds:.1f} s  {alarm or 'ok'}", alarm=alarm
        )
        for record in failed:
            self.say(f"    {record.case}: {one_line(record.data['failure']['detail'], 300)}")

    def end(self) -> None:
        """The last launch is done."""
        self._erase()

    def _line(self, share: float, width: int) -> str:
        """The moving line: where there is little room the launch's name is cut first, then the time left out."""
        head, tail = f"[{self._done + 1}/{len(self._launches)}] ", f" {100 * share:3.0f} %"
        room = width - len(head) - len(tail) - _SHORTEST_NAME
        tail += next(left for left in (*self._left(share), "") if len(left) <= max(0, room))
        label = terminal.shorten(str(self._launches[self._done]), width - len(head) - len(tail))
        return f"{head}{label}{tail}"[:width]

    def _left(self, share: float) -> Iterator[str]:
        """What is known of the time to the end, in words and in fewer words; nothing where nothing is known."""
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
