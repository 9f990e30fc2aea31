"""The executor of a Slurm platform, as far as a plan asks it: a job on one of the nodes says what they are.

Launches do not pass through it. They run as jobs, each with an executor of its own on its node (runner/fleet/).
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from runner.executors.base import LaunchRequest, LaunchResult
from runner.executors.local import LocalExecutor
from runner.images.identity import execution_hash_of
from runner.matrix import Implementation, Limits, Platform, Slurm
from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain
from runner.records.execution import Execution
from runner.records.image import ImageFacts
from runner.records.part import Part
from runner.slurm import commands
from runner.slurm.job import Job
from runner.slurm.tasks import JobEnd
from runner.system.bounded_reading import read_bounded
from runner.system.cpus import CpuSet
from runner.system.errors import HostAway, SlurmAway
from runner.system.files import make_directory
from runner.system.other_machine import unknown_state
from runner.system.printable import last_line
from runner.system.signals import uninterrupted

_LARGEST = 2**20
_LOOK_SECONDS = 0.2
_ASK_SECONDS = 5.0
_JOB_SECONDS = 600.0


class NodeFacts(Part, frozen=True, kw_only=True):
    """What a node says of itself: a record's ``machine``, and how it executes the platform's code."""

    machine: dict[str, Any]
    execution: Execution


class FleetExecutor:
    """Answers for the nodes of a partition, which count as alike. Each job checks that on its node."""

    def __init__(
        self, platform: Platform, where: Slurm, *, name: str, root: Path, matrix: Path, results: Path
    ) -> None:
        """Nodes run launches with the executor of this name, from the checkout at ``root``, which they share.

        Raises:
            SlurmAway: no node answers.
        """
        self.name = name
        self._where = where
        self._root = root
        self._matrix = matrix
        self._results = results
        self._facts = self._asked(platform)
        self._local = LocalExecutor(root) if name == LocalExecutor.name else None

    def execution(self, platform: Platform) -> Execution:
        """As the asked node says."""
        del platform
        return self._facts.execution

    def machine(self, platform: Platform) -> dict[str, Any]:
        """The asked node."""
        del platform
        return self._facts.machine

    def state(self, platform: Platform) -> dict[str, Any]:
        """Nothing is known from here."""
        del platform
        return unknown_state()

    def away(self, platform: Platform) -> str | None:
        """Nothing stands in the way: a node has answered."""
        del platform
        return None

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """A node of another architecture runs nothing of the platform."""
        del implementation
        found = self.machine(platform)["architecture"]
        return None if found == platform.architecture else f"the nodes are {found}"

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """As many as the limits ask for and a node has. Slurm chooses which."""
        count = self.machine(platform)["logical_cpus"] or limits.cpus
        return CpuSet(cpus=tuple(range(min(limits.cpus, count))), siblings=None)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The hash of the image's inputs, which nodes share."""
        if self._local is not None:
            return self._local.identify(target, toolchain, platform)
        return execution_hash_of(target, toolchain, platform.architecture, self._root)

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Nodes have images of their own."""
        del target, toolchain, platform
        return False

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """Nodes have images of their own.

        Raises:
            HostAway: always.
        """
        del target, toolchain, say
        raise _only_as_jobs(platform)

    def sweep(self, say: Callable[[str], None]) -> None:
        """Each job sweeps its node."""
        del say

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Launches are submitted as jobs, and none is started from here.

        Raises:
            HostAway: always.
        """
        raise _only_as_jobs(request.platform)

    def _asked(self, platform: Platform) -> NodeFacts:
        """Have a node describe itself, in a job.

        Raises:
            SlurmAway: no job can be submitted, or it gave no answer.
        """
        folder = self._results / "slurm"
        make_directory(folder)
        name = f"forge-bench-describe-{uuid4().hex[:8]}"
        answer, log = folder / f"{name}.json", folder / f"{name}.log"
        command = ("describe", str(answer), self.name, str(self._matrix), platform.name)
        job = Job(
            name=name,
            command=(sys.executable, "-m", "runner.fleet.node", *command),
            where=self._where,
            cpus=1,
            memory_bytes=2**30,
            seconds=_JOB_SECONDS,
            directory=self._root,
            output=log,
        )
        number = ""
        try:
            with uninterrupted():
                number = commands.submit(job)
            _wait(answer, log, job)
            return msgspec.json.decode(read_bounded(answer, _LARGEST), type=NodeFacts)
        except (OSError, ValueError) as error:
            raise _silent(f"its answer cannot be read: {error}") from error
        except KeyboardInterrupt:
            with uninterrupted():
                commands.cancel([number] if number else [])
            raise
        finally:
            for path in (answer, log):
                path.unlink(missing_ok=True)


def _wait(answer: Path, log: Path, job: Job) -> None:
    """Wait until the job has answered.

    Raises:
        SlurmAway: it ended without an answer.
    """
    ask = time.monotonic()
    while not answer.exists():
        if time.monotonic() >= ask:
            found = commands.tasks(job.name)
            if not any(each.goes_on for each in found) and not answer.exists():
                end = JobEnd.of(found[0].word if found else None)
                raise _silent(
                    f"{end.meaning}; {last_line(log.read_text(errors='replace')) if log.exists() else ''}"
                )
            ask = time.monotonic() + _ASK_SECONDS
        time.sleep(_LOOK_SECONDS)


def _silent(why: str) -> SlurmAway:
    return SlurmAway(
        what="no node of the fleet said what it is",
        why=why,
        fix="see that all nodes share this checkout, its .venv and the results directory under the same paths",
    )


def _only_as_jobs(platform: Platform) -> HostAway:
    return HostAway(
        what=f"{platform.name} is a Slurm fleet, and nothing can be started there from here",
        why="only the command run submits jobs",
        fix="select another platform with --platform",
    )
