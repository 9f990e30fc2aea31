"""Machines that measure at the same time: a process for each, and one writer of records and ledger.

Each machine has a referee of its own process. What this process computes between launches, such as a page, then delays
no other machine's clock (docs/decisions/machines-at-once.md).
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from runner.executors.base import Executor
from runner.planning.planned import Launch
from runner.records.record import Record
from runner.running.in_order import WhenEnded
from runner.running.launch import Surroundings
from runner.running.progress import Progress
from runner.running.work import Began, Ended, Finished, Message, Over, Reached, Said, Work
from runner.system import machine
from runner.system.checkout import ROOT
from runner.system.errors import ForgeBenchError
from runner.system.orphans import owner_environment
from runner.system.signals import die_with_parent, signal_name, uninterrupted

# A launch that is stopped gets so long to be removed from its machine.
_STOP_SECONDS = 60.0


def turns(launches: Sequence[Launch]) -> Iterator[tuple[Launch, ...]]:
    """Launches that may run at the same time on their machines, then those that another machine's reference judges."""
    for waits in (False, True):
        turn = tuple(launch for launch in launches if _is_judged_elsewhere(launch) is waits)
        if turn:
            yield turn


def _is_judged_elsewhere(launch: Launch) -> bool:
    judge = launch.first.reference_platform
    return judge is not None and judge.machine != launch.first.platform.machine


@dataclass
class _Worker:
    """A machine's process.

    Attributes:
        queue: its launches.
        process, connection: the process, and what it says.
        over: of how many of its launches nothing more comes.
        records: those of the launch that ended last.
    """

    queue: tuple[Launch, ...]
    process: "subprocess.Popen[bytes]"
    connection: Connection
    over: int = 0
    records: list[Record] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """A run on several machines.

    Attributes:
        around: what all launches share; its store and its book are written here alone.
        progress: shows all machines.
        executor: makes the executor in another process.
        machines: the machine of each platform, as a record describes it.
        away: gains the platforms whose machines went away, each with the reason.
        when_ended: told of each launch.
    """

    around: Surroundings
    progress: Progress
    executor: Callable[[], Executor]
    machines: Mapping[str, Mapping[str, Any]]
    away: dict[str, str]
    when_ended: WhenEnded

    def run(self, queues: Mapping[str, tuple[Launch, ...]]) -> None:
        """Run the queues of machines, all at the same time.

        Raises:
            ForgeBenchError: nothing more can be run. The launches of all machines were stopped.
        """
        every, beside = _cpus_of_this_process(), self._cpus_beside(queues.get("", ()))
        with contextlib.ExitStack() as stack:
            stack.enter_context(_held_to(beside))
            workers = [
                stack.enter_context(self._started(queue, beside if machine_name else every))
                for machine_name, queue in queues.items()
            ]
            try:
                self._follow(workers)
            except BaseException:
                with uninterrupted():
                    self._stop(workers)
                raise

    def _cpus_beside(self, here: Sequence[Launch]) -> tuple[int, ...]:
        """The CPUs for the referees of other machines: where this one measures too, those that it leaves."""
        every = _cpus_of_this_process()
        used = {
            cpu
            for launch in here
            for cpu in self.around.executor.cpus(launch.first.limits, launch.first.platform).cpus
        }
        return tuple(cpu for cpu in every if cpu not in used) or every

    @contextlib.contextmanager
    def _started(self, queue: tuple[Launch, ...], cpus: tuple[int, ...]) -> Iterator[_Worker]:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "runner.running.worker", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, **owner_environment()},
                pass_fds=(theirs.fileno(),),
                preexec_fn=die_with_parent(),  # noqa: PLW1509 (it allocates nothing)
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Ctrl-C is this process's, which stops the others.
                start_new_session=True,
            )
        try:
            with Connection(ours.detach()) as connection:
                # One that ended at once is noticed when it is listened to.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.send(self._work(queue, cpus))
                yield _Worker(queue=queue, process=process, connection=connection)
        finally:
            # It has said its last word, and leaves its machine.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_STOP_SECONDS)
            process.kill()
            process.wait()

    def _work(self, queue: tuple[Launch, ...], cpus: tuple[int, ...]) -> Work:
        around, names = self.around, {launch.first.platform.name for launch in queue}
        return Work(
            launches=queue,
            executor=self.executor,
            machines={name: machine.fingerprint(self.machines[name]) for name in names},
            away={name: why for name, why in self.away.items() if name in names},
            cpus=cpus,
            shares=self.progress.moves,
            profile=around.profile,
            images={key: image for key, image in around.images.items() if key[2] in names},
            results=around.store.root.resolve(),
            secret=around.secret,
        )

    def _follow(self, workers: Sequence[_Worker], *, until: float | None = None) -> None:
        """Take what the workers say until each has ended; while they are being stopped, until a time (monotonic)."""
        while listened := {each.connection: each for each in workers if not each.connection.closed}:
            ready = wait(list(listened), None if until is None else max(0.0, until - time.monotonic()))
            if not ready:
                return
            for connection in ready:
                worker = listened[connection]  # type: ignore[index]  # one of those that were given
                try:
                    message: Message = worker.connection.recv()
                except (EOFError, ConnectionResetError):
                    message = self._given_up(worker) if until is None else Finished({})
                if isinstance(message, Finished):
                    worker.connection.close()
                self._take(worker, message)

    def _stop(self, workers: Sequence[_Worker]) -> None:
        """Have the running launches removed from their machines. What has ended meanwhile is kept."""
        for worker in workers:
            worker.process.terminate()
        until = time.monotonic() + _STOP_SECONDS
        while any(not each.connection.closed for each in workers) and time.monotonic() < until:
            # The caller hears of what led here.
            with contextlib.suppress(ForgeBenchError):
                self._follow(workers, until=until)

    def _take(self, worker: _Worker, message: Message) -> None:
        if isinstance(message, Said):
            self.progress.say(message.text)
        elif isinstance(message, Began):
            self.progress.start(worker.queue[message.number])
        elif isinstance(message, Reached):
            self.progress.within(message.share, worker.queue[worker.over])
        elif isinstance(message, Ended):
            self._write(worker, message)
        elif isinstance(message, Over):
            self._over(worker)
        else:
            self.away.update(message.away)
            if message.error is not None:
                raise message.error

    def _write(self, worker: _Worker, ended: Ended) -> None:
        """Store what a launch gave. Its machine waits for that, and begins nothing meanwhile."""
        launch, around = worker.queue[ended.number], self.around
        try:
            with uninterrupted(), around.book.launch(launch) as book:
                book.name = ended.name
                for record in ended.records:
                    around.accept(record)
                    book.records.append(around.store.add(record))
                book.write(void=ended.void)
        finally:
            # A process that still waited could not be stopped.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                worker.connection.send(None)
        if ended.void is None:
            worker.records = book.records
            self.progress.finish(launch, book.records)

    def _over(self, worker: _Worker) -> None:
        launch, *following = worker.queue[worker.over :]
        records, worker.records = worker.records, []
        worker.over += 1
        self.when_ended(launch, following[0] if following else None, records)

    def _given_up(self, worker: _Worker) -> Finished:
        """A process ended without a word, by a signal perhaps. What it had left is not run."""
        code = worker.process.wait()
        how = signal_name(-code) if code < 0 else f"exit code {code}"
        why = f"the process that measured there ended ({how})"
        for launch in worker.queue[worker.over :]:
            with self.around.book.launch(launch) as book:
                book.write(void=f"{launch.first.platform.name}: {why}")
            self.progress.say(f"not run, {why}: {launch}")
            self._over(worker)
        return Finished({launch.first.platform.name: why for launch in worker.queue})


@contextlib.contextmanager
def _held_to(cpus: tuple[int, ...]) -> Iterator[None]:
    """Hold this process to CPUs, where the system can."""
    before = _cpus_of_this_process()
    if not before:
        yield
        return
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cpus_of_this_process() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
