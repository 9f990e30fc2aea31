"""How the tasks of a job stand, as ``squeue`` says it, and what an ending without an answer means."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# The number of the job, the number in its array, the state, why it waits, and the job's name.
FORMAT = "%A|%K|%T|%r|%j"
_FIELDS = 5
_RUNNING = frozenset({"RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED", "RESIZING"})
_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"})


class JobEnd(Enum):
    """How a task can end without an answer, each with what it means and what to do about it."""

    meaning: str
    advice: str

    def __new__(cls, value: str, meaning: str, advice: str) -> "JobEnd":
        """A member by its word alone."""
        member = object.__new__(cls)
        member._value_ = value
        member.meaning = meaning
        member.advice = advice
        return member

    TIMEOUT = (
        "timeout",
        "its job reached the time limit",
        "read the log: a node that builds the image for the first time may need a registry to pull it from",
    )
    OUT_OF_MEMORY = (
        "out-of-memory",
        "Slurm killed its job at the job's memory limit",
        "raise limits.*.memory in the matrix",
    )
    NODE_FAIL = (
        "node-fail",
        "its node was lost, and Slurm did not start it again",
        "allow requeueing (JobRequeue=1 in slurm.conf), then run again",
    )
    PREEMPTED = (
        "preempted",
        "another job took its place, and Slurm did not start it again",
        "run again, in a partition that is not preempted",
    )
    CANCELLED = ("cancelled", "somebody cancelled its job", "run again")
    FAILED = ("failed", "the runner on the node ended without an answer", "read the log, then run again")
    UNKNOWN = (
        "unknown",
        "Slurm knows its job no more, and it left no answer",
        "see that the nodes write into the results directory, then run again",
    )

    @classmethod
    def of(cls, word: str | None) -> "JobEnd":
        """The end that Slurm's word for a state stands for; None where Slurm does not list the task."""
        return {
            None: cls.UNKNOWN,
            "TIMEOUT": cls.TIMEOUT,
            "DEADLINE": cls.TIMEOUT,
            "OUT_OF_MEMORY": cls.OUT_OF_MEMORY,
            "NODE_FAIL": cls.NODE_FAIL,
            "BOOT_FAIL": cls.NODE_FAIL,
            "PREEMPTED": cls.PREEMPTED,
            "CANCELLED": cls.CANCELLED,
            "REVOKED": cls.CANCELLED,
        }.get(word, cls.FAILED)


@dataclass(frozen=True, kw_only=True)
class TaskState:
    """One task. ``number`` is that in its array; None for a job that is no array. ``reason`` says why it waits."""

    job: str
    number: int | None
    word: str
    reason: str
    name: str

    @property
    def runs(self) -> bool:
        """Whether its processes may be alive."""
        return self.word in _RUNNING

    @property
    def goes_on(self) -> bool:
        """Whether it may still give an answer."""
        return self.runs or self.word in _WAITING


def read_tasks(text: str) -> Iterator[TaskState]:
    """The tasks in what ``squeue`` printed in this format. Lines of another form are none."""
    for line in text.splitlines():
        fields = line.strip().split("|", _FIELDS - 1)
        if len(fields) == _FIELDS:
            job, number, word, reason, name = fields
            yield TaskState(
                job=job,
                number=int(number) if number.isdigit() else None,
                word=word,
                reason=reason,
                name=name,
            )
