"""The process that measures on one machine while others do so on theirs: ``python -m runner.running.worker N``.

It is the referee of its launches and writes no record. What ended goes to the process that started it, through the
socket N. Each answer is waited for, so that a launch is stored before the next one begins.
"""

import os
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection

from runner.executors.base import Executor
from runner.matrix import Platform
from runner.planning.planned import Launch
from runner.records.record import Record
from runner.records.store import Store
from runner.running.bookkeeping import Book, LaunchBook
from runner.running.in_order import in_order
from runner.running.launch import Surroundings
from runner.running.work import Began, Ended, Finished, Message, Over, Reached, Said, Work
from runner.system import machine
from runner.system.errors import ForgeBenchError
from runner.system.signals import keep_statuses_of_children, stop_on_signals, uninterrupted
from runner.system.space import typed_refusals


class _Telling:
    """Tells the starting process what a run on a terminal would show."""

    def __init__(self, there: Connection, launches: Sequence[Launch], *, shares: bool) -> None:
        self._there = there
        self._launches = launches
        self._shares = shares
        # A launch's output is read by a thread of its own, which tells how far it is.
        self._sending = threading.Lock()

    def say(self, text: str) -> None:
        """Have a line printed."""
        self._send(Said(text))

    def start(self, launch: Launch) -> None:
        """A launch begins."""
        self._send(Began(self._launches.index(launch)))

    def within(self, share: float) -> None:
        """The running launch is so far."""
        if self._shares:
            self._send(Reached(share))

    def finish(self, launch: Launch, records: Sequence[Record]) -> None:
        """The book of the launch says so already."""

    def keep(self, launch: Launch, book: LaunchBook, void: str | None) -> None:
        """Have the end of a launch written down, and wait for that."""
        # Interrupted between both, it would be told twice.
        with uninterrupted():
            self._send(Ended(self._launches.index(launch), book.name, tuple(book.records), void))
            self._there.recv()

    def over(self, launch: Launch, following: Launch | None, records: list[Record]) -> None:
        """Nothing more comes of a launch."""
        del launch, following, records
        self._send(Over())

    def _send(self, message: Message) -> None:
        with self._sending:
            self._there.send(message)


def main(descriptor: int) -> int:
    """Do the work that comes through a socket."""
    stop_on_signals()
    keep_statuses_of_children()
    with Connection(descriptor) as there:
        try:
            work: Work = there.recv()
            there.send(_done(work, there))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            # The starting process is gone, and nobody else is to be told.
            return 1
        except KeyboardInterrupt:
            return 130
    return 0


def _done(work: Work, there: Connection) -> Finished:
    away = dict(work.away)
    if work.cpus:
        os.sched_setaffinity(0, work.cpus)
    telling = _Telling(there, work.launches, shares=work.shares)
    try:
        executor = work.executor()
        for platform in dict.fromkeys(launch.first.platform for launch in work.launches):
            if platform.name not in away and (why := _is_another(executor, platform, work)):
                away[platform.name] = why
        around = Surroundings(
            profile=work.profile,
            images=work.images,
            executor=executor,
            store=Store(work.results),
            # The starting process stores them: it alone writes records and ledger.
            add=lambda record: record,
            progress=telling,
            secret=work.secret,
            book=Book(keep=telling.keep),
            accept=lambda _record: None,
        )
        with typed_refusals():
            in_order(work.launches, around, away, telling.over)
    except ForgeBenchError as error:
        return Finished(away, error)
    return Finished(away)


def _is_another(executor: Executor, platform: Platform, work: Work) -> str | None:
    """Why the machine that answers now is not the plan's; None where it is, or where none answers."""
    if executor.away(platform) is not None:
        return None
    planned, now = work.machines[platform.name], machine.fingerprint(executor.machine(platform))
    return None if now == planned else f"the plan was made for {planned}, and {now} answers"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
