"""Why a cell failed. The list is closed, so that a table shows a reason and never a silent gap."""

from dataclasses import dataclass
from enum import Enum

from runner.system.printable import one_line

_LONGEST_DETAIL = 400


class FailureKind(Enum):
    """The typed reasons, each with what it means and what to do about it.

    The value is the word that records and tables show. Documents copy the other two texts from here.
    """

    meaning: str
    advice: str

    def __new__(cls, value: str, meaning: str, advice: str) -> "FailureKind":
        """A member by its word alone: ``FailureKind("deadline")``."""
        member = object.__new__(cls)
        member._value_ = value
        member.meaning = meaning
        member.advice = advice
        return member

    NOT_STARTED = (
        "not-started",
        "The process could not be started: no such program in the image, or the daemon refused the container.",
        "Check that the first word of the command exists in that image; the detail holds the daemon's answer.",
    )
    LOST = (
        "lost",
        "Another program removed the container, or its keeper, while it ran.",
        "Check that no other program removes containers on that machine, then run again.",
    )
    EXIT_CODE = (
        "exit-code",
        "The process ended with a code other than 0. Full disks inside the container (/tmp holds 256 MiB), "
        "refused writes and refused connections also end here, if the program gives up on them.",
        "Read the log: its last line is in the detail.",
    )
    SIGNAL = (
        "signal",
        "The process ended by a signal that was not the runner's: SIGSEGV, SIGABRT, or a SIGKILL from outside.",
        "Read the log; run the command by hand in the image under a debugger.",
    )
    OUT_OF_MEMORY = (
        "out-of-memory",
        "The kernel killed the process, or a child without which the work was not done, at the memory limit. "
        "The container's own flag tells. Without containers the runner checks once a second and kills it.",
        "Raise limits.*.memory in the matrix, or name the case under the implementation's `without`.",
    )
    DEADLINE = (
        "deadline",
        "The process was still running when the profile's deadline passed, and was killed with all its children.",
        "Find in the log where it hung; raise profiles.*.deadline_seconds if it was only slow.",
    )
    TOO_MANY_PROCESSES = (
        "too-many-processes",
        "The process reached the deadline with as many processes and threads as its limit allows. Without containers "
        "it was killed as soon as the runner saw more.",
        "Find the code that forks without end; raise limits.*.pids if it truly needs so many.",
    )
    TOO_MUCH_OUTPUT = (
        "too-much-output",
        "More was printed on stdout or stderr than any measurement or log needs; the process was killed.",
        "Print one measurement for each case on stdout, and a log of less than 256 MiB on stderr.",
    )
    TOO_LARGE_OUTPUT = (
        "too-large-output",
        "More was written into the output directory than it holds (1 GiB, or half of the memory limit).",
        "Write only what the gate compares; write temporary files to /tmp.",
    )
    TOO_MANY_FILES = (
        "too-many-files",
        "More files and folders were written into the output directory than it holds (10,000).",
        "Write only what the gate compares, one file each.",
    )
    FORBIDDEN_OUTPUT = (
        "forbidden-output",
        "The output directory holds an entry that is not a plain file or folder: a link, a pipe, a device, or a "
        "name that could lead elsewhere.",
        "Write plain files; their names hold only ASCII letters, digits and = . _ -.",
    )
    MALFORMED_OUTPUT = (
        "malformed-output",
        "stdout holds a line that is not an event of the measurement schema, or a measurement for another case.",
        "Answer the referee as docs/protocol.md says; without one print events of "
        "runner/schemas/measurement.schema.json. Print all else on stderr.",
    )
    MISSING_MEASUREMENT = (
        "missing-measurement",
        "The process ended well and printed no measurement for this case.",
        "Answer each `go` with one `done`; without a referee print one measurement for each --case. "
        "Flush stdout before the end.",
    )
    DOUBLED_MEASUREMENT = (
        "doubled-measurement",
        "More than one measurement was printed for this case.",
        "Answer each `go` once; without a referee print exactly one measurement for each --case.",
    )
    NOT_FINITE = (
        "not-finite",
        "NaN or infinity in a figure or in an output.",
        "Find the operation that overflowed or divided by zero.",
    )
    IMPOSSIBLE_TIME = (
        "impossible-time",
        "The times add up to more than the process lived, or a repetition is shorter than a nanosecond.",
        "Time with a monotonic clock; time several calls together where one is shorter than a tick.",
    )
    UNACCOUNTED_TIME = (
        "unaccounted-time",
        "The times that the implementation claims do not fill the window that the referee saw, or fill more than it, "
        "or too much work was done between the timed repetitions.",
        "Do all work between `go` and `done`, time all of it, and wait for results that are computed asynchronously.",
    )
    PREPARED_WORK = (
        "prepared-work",
        "A training took much longer with a seed that nobody knew than with the known one: part of its work had been "
        "done before `go`.",
        "Make everything that the seed decides after `go`; let imports and compiling depend on no seed.",
    )
    WRONG_COUNTS = (
        "wrong-counts",
        "The amount of work differs from what the runner computes from the parameters.",
        "Compare the counts in the detail; the matrix holds the arithmetic under `counts`.",
    )
    MISSING_METRIC = (
        "missing-metric",
        "The measurement lacks the benchmark's headline.",
        "Print the metric that the matrix names under `headline`.",
    )
    MISSING_OUTPUT = (
        "missing-output",
        "A file or a tensor that the gate compares was not written.",
        "Write it into the folder of its case below --output.",
    )
    UNREADABLE_OUTPUT = (
        "unreadable-output",
        "An output file is not .npy, .safetensors or JSON as its name says, or is pickled, too large or cut off.",
        "Write arrays of numbers with numpy.save or safetensors, and episodes as JSON.",
    )
    WRONG_OUTPUT = (
        "wrong-output",
        "An output differs from the reference's by more than the matrix allows, or has another shape.",
        "The detail names the output and the difference: the work is not the same, or the tolerance is too tight.",
    )
    NO_REFERENCE = (
        "no-reference",
        "The reference of this benchmark failed, or it ran natively on other input files than an emulated cell. So there "
        "is nothing to compare with.",
        "Correct the reference first; its own row says why it failed. Where the inputs differ, the generator is not "
        "portable: let the reference run under emulation.",
    )


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A reason and the one line that explains it.

    The line may quote an implementation's output, so this class makes it printable and short.
    """

    kind: FailureKind
    detail: str

    def __post_init__(self) -> None:
        """Clean the detail."""
        object.__setattr__(self, "detail", one_line(self.detail, _LONGEST_DETAIL))
