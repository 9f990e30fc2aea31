"""What a job asks of Slurm, and the script that it runs."""

import math
import shlex
from dataclasses import dataclass
from pathlib import Path

from runner.matrix import Limits, Slurm

# The runner reads and compares outputs beside the launch.
_RUNNER_BYTES = 2 * 2**30
# A node's first launch of an image may have to build it.
_PREPARING_SECONDS = 1800.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job, or an array of them that differ only in their number.

    Attributes:
        name: Slurm shows it.
        command: what each task runs.
        where: the partition, and the features of its nodes.
        cpus: that no other job gets.
        memory_bytes: likewise.
        seconds: after so many Slurm ends it.
        directory: where it starts.
        output: of stdout and stderr; Slurm replaces %x by the name, and %a by the task's number in the array.
        count: of the tasks; None for a job that is no array.
        after: jobs that have to end first, in whatever way.
    """

    name: str
    command: tuple[str, ...]
    where: Slurm
    cpus: int
    memory_bytes: int
    seconds: float
    directory: Path
    output: Path
    count: int | None = None
    after: tuple[str, ...] = ()


def share_of(limits: Limits) -> tuple[int, int]:
    """The CPUs and the bytes of a job for a launch under these limits: the runner beside it has one CPU more."""
    return limits.cpus + 1, limits.memory_bytes + _RUNNER_BYTES


def seconds_of(deadline_seconds: float) -> float:
    """The time of a job for a launch with this deadline. Input files may have to be made before, in the same time."""
    return 2 * deadline_seconds + _PREPARING_SECONDS


def arguments(job: Job) -> tuple[str, ...]:
    """The arguments of ``sbatch``."""
    return (
        "--parsable",
        "--requeue",
        "--open-mode=append",
        f"--job-name={job.name}",
        f"--chdir={job.directory}",
        f"--output={job.output}",
        "--ntasks=1",
        f"--cpus-per-task={job.cpus}",
        f"--mem={math.ceil(job.memory_bytes / 2**20)}M",
        f"--time={math.ceil(job.seconds / 60)}",
        *((f"--partition={job.where.partition}",) if job.where.partition else ()),
        *((f"--constraint={job.where.constraint}",) if job.where.constraint else ()),
        *((f"--array=0-{job.count - 1}",) if job.count is not None else ()),
        *((f"--dependency=afterany:{':'.join(job.after)}",) if job.after else ()),
    )


def script(command: tuple[str, ...]) -> str:
    """The script. The command replaces the shell, so that Slurm's signals reach the runner."""
    return f"#!/bin/sh\nexec {shlex.join(command)}\n"
