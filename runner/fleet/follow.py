"""Follows a submitted plan: takes the answers of its jobs into the store and the ledger, and says what was lost."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.fleet.spool import Answer, Spool, Submitted, Task
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import LaunchLine
from runner.records.record import Record
from runner.running.bookkeeping import LedgerOfPlan, reason_of
from runner.running.launch import Accept
from runner.slurm import commands
from runner.slurm.tasks import JobEnd, TaskState
from runner.system.errors import ForgeBenchError, NotQuiet, SlurmAway
from runner.system.files import write_atomically
from runner.system.printable import last_line, log_text
from runner.system.privacy import without_host
from runner.system.signals import uninterrupted

_LOOK_SECONDS = 0.2
_ASK_SECONDS = 3.0
# After scancel Slurm gives processes KillWait (30 s by default) to end by themselves.
_CANCEL_SECONDS = 60.0
# A shared file system may show a new file only after so long.
_LATE_SECONDS = 60.0


def job_prefix(plan: str) -> str:
    """How the names of a plan's jobs begin. The number of the first launch of each array follows."""
    return f"forge-bench-{plan}-"


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A launch that gave no records, by its name for people, and why."""

    name: str
    why: str


@dataclass
class Follower:
    """One plan on its way.

    Attributes:
        accept: raises an error where a record must not be stored.
        records: what was stored so far.
        lost: each launch that gave no records, and why.
    """

    spool: Spool
    submitted: Submitted
    say: Callable[[str], None]
    accept: Accept
    records: list[Record] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ledger = LedgerOfPlan(path=self.spool.store.ledger_path, plan=self.submitted.plan)
        told = _told(self._ledger)
        self._left = {
            number: task for number, task in enumerate(self.submitted.tasks) if task.keys not in told
        }
        self._ended: dict[int, float] = {}
        self._away = self._waiting = ""

    def follow(self) -> None:
        """Wait for the end of each launch."""
        ask = time.monotonic()
        while self._left:
            self._take_answers()
            if self._left and time.monotonic() >= ask:
                self._ask()
                ask = time.monotonic() + _ASK_SECONDS
            elif self._left:
                time.sleep(_LOOK_SECONDS)

    def add(self, submitted: Submitted) -> None:
        """Follow the launches too that a plan has gained."""
        known, self.submitted = len(self.submitted.tasks), submitted
        self._left |= dict(enumerate(submitted.tasks[known:], start=known))

    def cancel(self) -> None:
        """Cancel what is left, and take what has ended meanwhile. A launch that ran is written as interrupted."""
        if not self._left:
            return
        try:
            states = self._states()
            commands.cancel(each.job for each in states.values() if each.goes_on)
            running = {number for number, each in states.items() if each.runs}
            until = time.monotonic() + _CANCEL_SECONDS
            while any(each.goes_on for each in states.values()) and time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)
                states = self._states()
            while self.spool.answered() & self._left.keys():
                # A record that is not accepted has ended the plan already.
                with contextlib.suppress(NotQuiet):
                    self._take_answers()
            for number in sorted(running & self._left.keys()):
                self._ledger.launched(self._left[number].keys, void="interrupted")
            if states:
                self.say("cancelled the jobs of this run")
        except ForgeBenchError as error:
            # The caller hears of the error that led here. Without the plan's directory a job ends at its start.
            self.say(f"not all jobs of this run could be cancelled: {error.what}: {error.why}")

    def _take_answers(self) -> None:
        for number in sorted(self.spool.answered() & self._left.keys()):
            answer = self.spool.read_answer(number)
            with uninterrupted():
                self._take(self._left.pop(number), answer)

    def _take(self, task: Task, answer: Answer) -> None:
        records = answer.read_records()
        try:
            for record in records:
                self.accept(record)
        except ForgeBenchError as error:
            self._ledger.launched(task.keys, name=answer.launch, void=reason_of(error))
            raise
        for record in records:
            self.records.append(self.spool.store.add(record))
        void = None
        if answer.refused is not None:
            kind, why = answer.refused
            # The ledger names no machine.
            void = f"{kind}: {why}"
            self._lose(task, f"{void}; on {answer.node}")
        # First the launch itself: where this process is killed now, its line says that the answer was taken.
        self._ledger.launched(task.keys, name=answer.launch, records=records, void=void)
        for _ in range(answer.restarts):
            self._ledger.launched(task.keys, void="requeued: Slurm started its job again")
        if void is None:
            kinds = sorted({each.failure.kind for each in records if each.failure is not None})
            again = f", started {answer.restarts + 1} times" if answer.restarts else ""
            self._say(task, f"{', '.join(kinds) or 'ok'} on {answer.node}{again}")

    def _ask(self) -> None:
        """Ask Slurm how the launches stand that have not answered, and give up those that will not."""
        try:
            found = self._states()
        except SlurmAway as error:
            if not self._away:
                self.say(f"Slurm does not answer, and its jobs are waited for: {error.why}")
            self._away = error.why
            return
        self._away = ""
        # What was answered until Slurm said that it ended.
        answered, now = self.spool.answered(), time.monotonic()
        for number, task in list(self._left.items()):
            state = found.get(number)
            if number in answered or (state is not None and state.goes_on):
                self._ended.pop(number, None)
                continue
            # The answer of a job that ended well may still be on its way.
            late = now - self._ended.setdefault(number, now) > _LATE_SECONDS
            if late or (state is not None and state.word != "COMPLETED"):
                self._give_up(number, task, state)
        self._say_why_waiting(found)

    def _give_up(self, number: int, task: Task, state: TaskState | None) -> None:
        end = JobEnd.of(state.word if state else None)
        void, words = f"{end.value}: {end.meaning}", self._last_words(number, state)
        with uninterrupted():
            self._ledger.launched(task.keys, void=void)
            del self._left[number]
            self._lose(task, f"{void}{words}; to do: {end.advice}")

    def _lose(self, task: Task, why: str) -> None:
        self.lost.append(Lost(name=task.name, why=why))
        self._say(task, f"lost: {why}")

    def _last_words(self, number: int, state: TaskState | None) -> str:
        """The last line that a lost job printed, for a message; the store keeps all of them."""
        if state is None:
            return ""
        try:
            text = (self.spool.logs / f"{state.name}_{state.number}.log").read_text(errors="replace")
        except OSError:
            return ""
        kept = self.spool.store.log_path(f"slurm-{self.submitted.plan}-{number}")
        write_atomically(kept, log_text(without_host(text)))
        return f"; its log {kept.name} ends: {last_line(text)}"

    def _states(self) -> dict[int, TaskState]:
        """How each launch stands that Slurm knows."""
        prefix = job_prefix(self.submitted.plan)
        return {
            int(each.name.removeprefix(prefix)) + each.number: each
            for each in commands.tasks(prefix)
            if each.number is not None
        }

    def _say_why_waiting(self, found: dict[int, TaskState]) -> None:
        """Say once why nothing runs."""
        states = [found[number] for number in self._left if number in found]
        reasons = {each.reason for each in states if not each.runs} - {"None", "Dependency", "Priority"}
        waiting = ", ".join(sorted(reasons)) if not any(each.runs for each in states) else ""
        if waiting and waiting != self._waiting:
            self.say(f"{len(self._left)} launches wait: {waiting}")
        self._waiting = waiting

    def _say(self, task: Task, what: str) -> None:
        count = len(self.submitted.tasks)
        self.say(f"[{count - len(self._left)}/{count}] {task.name}  {what}")


def _told(ledger: LedgerOfPlan) -> set[tuple[str, ...]]:
    """The cells of the launches that the ledger has a line of."""
    lines = read_ledger(ledger.path).lines
    return {line.keys for line in lines if isinstance(line, LaunchLine) and line.plan == ledger.plan}
