"""Slurm's command line: each command is an argument list, and each failure a typed error."""

import subprocess
from collections.abc import Iterable

from runner.slurm.job import Job, arguments, script
from runner.slurm.tasks import FORMAT, TaskState, read_tasks
from runner.system.errors import SlurmAway
from runner.system.printable import one_line

# A busy controller answers late, and its own commands give up after some retries.
_PATIENCE_SECONDS = 120
_LONGEST = 400


def submit(job: Job) -> str:
    """Submit a job or an array of them; return its number.

    Raises:
        SlurmAway: Slurm does not take it.
    """
    said = _call("sbatch", *arguments(job), stdin=script(job.command))
    # A federation adds the name of its cluster.
    return said.strip().partition(";")[0]


def tasks(prefix: str) -> list[TaskState]:
    """The state of each task of this user's jobs whose names begin with ``prefix``.

    Raises:
        SlurmAway: Slurm does not answer.
    """
    said = _call("squeue", "--me", "--states=all", "--array", "--noheader", f"--format={FORMAT}")
    return [each for each in read_tasks(said) if each.name.startswith(prefix)]


def cancel(jobs: Iterable[str]) -> None:
    """Cancel these jobs, and have their processes told before they are killed.

    Raises:
        SlurmAway: Slurm does not answer.
    """
    named = sorted(set(jobs))
    if named:
        _call("scancel", "--quiet", *named)


def largest_array() -> int:
    """The number of tasks that one array may have.

    Raises:
        SlurmAway: Slurm does not answer.
    """
    for line in _call("scontrol", "show", "config").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "MaxArraySize" and value.strip().isdigit():
            return max(1, int(value) - 1)
    return 1000


def _call(*words: str, stdin: str = "") -> str:
    try:
        done = subprocess.run(
            words, input=stdin, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS
        )
    except FileNotFoundError as error:
        raise SlurmAway(
            what=f'there is no command "{words[0]}" here',
            why="jobs are submitted with Slurm's own commands",
            fix="call forge-bench on a login node of the fleet, or select other platforms with --platform",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise _refused(words[0], f"no answer within {_PATIENCE_SECONDS} s") from error
    if done.returncode != 0:
        raise _refused(words[0], done.stderr or f"exit code {done.returncode}")
    return done.stdout


def _refused(command: str, why: str) -> SlurmAway:
    return SlurmAway(
        what=f'the command "{command}" failed',
        why=one_line(why, _LONGEST),
        fix="see whether Slurm answers (sinfo), and whether the partition and the constraint of the matrix exist",
    )
