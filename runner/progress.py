"""What a run says while it goes on: one moving line with an ETA on a terminal, plain lines elsewhere."""

import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from runner.plan import Launch
from runner.record import Record
from runner.store import Store

_WIDTH = 79
_Kind = tuple[str, ...]


class Progress:
    """Writes to one stream, stderr by default: stdout is for results."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._estimates: list[float | None] = []
        self._total = 0
        self._done = 0
        self._label = ""
        self._started = 0.0

    def say(self, text: str) -> None:
        """A line of its own."""
        self._erase()
        self._stream.write(text + "\n")
        self._stream.flush()

    def begin(self, launches: Sequence[Launch], store: Store) -> None:
        """Learn from earlier records how long such launches took."""
        self._total = len(launches)
        if not launches:
            return
        seen: dict[_Kind, list[float]] = {}
        for record in store.records():
            seen.setdefault(_kind_of(record), []).append(record.data["launch"]["wall_seconds"])
        known = {kind: statistics.median(times) for kind, times in seen.items()}
        self._estimates = [known.get(_kind(launch)) for launch in launches]
        eta = self._remaining(0.0)
        self.say(f"{self._total} launches to run{f', about {_duration(eta)}' if eta is not None else ''}")

    def start(self, launch: Launch) -> None:
        """A launch begins."""
        self._label, self._started = str(launch), time.monotonic()
        self.within(0.0)

    def within(self, share: float) -> None:
        """How much of the current launch is done, from 0 to 1."""
        if not self._terminal:
            return
        eta = self._remaining(share)
        line = f"[{self._done + 1}/{self._total}] {self._label} {100 * share:3.0f} %"
        if eta is not None:
            line += f", {_duration(eta)} left"
        self._stream.write(f"\r{line[:_WIDTH]:<{_WIDTH}}")
        self._stream.flush()

    def finish(self, launch: Launch, records: Sequence[Record]) -> None:
        """A launch ended and is stored."""
        seconds = time.monotonic() - self._started
        if self._done < len(self._estimates):
            self._estimates[self._done] = seconds
        self._done += 1
        failed = [record for record in records if record.failed]
        verdict = "ok" if not failed else f"FAILED: {failed[0].data['failure']['kind']}"
        self.say(f"[{self._done}/{self._total}] {launch}  {seconds:.1f} s  {verdict}")
        for record in failed:
            self.say(f"    {record.case}: {record.data['failure']['detail'][:300]}")

    def end(self) -> None:
        """The last launch is done."""
        self._erase()

    def _remaining(self, share: float) -> float | None:
        """Seconds to the end, by what is known of such launches; None where nothing is known yet."""
        known = [estimate for estimate in self._estimates if estimate is not None]
        if not known:
            return None
        typical = statistics.fmean(known)
        ahead = [estimate if estimate is not None else typical for estimate in self._estimates[self._done :]]
        return sum(ahead) - (ahead[0] * share if ahead else 0.0)

    def _erase(self) -> None:
        if self._terminal:
            self._stream.write("\r" + " " * _WIDTH + "\r")


def _kind(launch: Launch) -> _Kind:
    cell = launch.first
    return (
        cell.benchmark.name,
        cell.implementation.name,
        cell.platform.name,
        launch.execution.kind.value,
        json.dumps(dict(cell.parameters), sort_keys=True),
    )


def _kind_of(record: Record) -> _Kind:
    return (
        record.benchmark,
        record.implementation,
        record.platform,
        record.data["execution"]["kind"],
        json.dumps(record.data["parameters"], sort_keys=True),
    )


def _duration(seconds: float) -> str:
    if seconds < 90:  # noqa: PLR2004
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
