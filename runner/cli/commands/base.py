"""What every command offers, and what it is given to work with."""

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.cli.words.name_check import check_names
from runner.cli.words.options import Options
from runner.cli.words.syntax import CommandSyntax
from runner.daemon.unavailable import without_library
from runner.executors.base import Executor
from runner.executors.local import LocalExecutor
from runner.matrix import Matrix, load_matrix
from runner.planning.cells import Selection
from runner.planning.plan import Plan, make_plan
from runner.records.order import future_in_words
from runner.records.record import Record
from runner.records.results_directory import store_inside_image, store_of_checkout
from runner.records.store import Store
from runner.running.progress import Progress
from runner.system import machine
from runner.system.paths import resolved

ROOT = Path(__file__).resolve().parents[3]


class Context:
    """The call's options, and what follows from them: each part is made when a command first asks for it."""

    def __init__(self, options: Options, commands: Mapping[str, CommandSyntax]) -> None:
        self._asked = options
        self.commands = commands
        self.root = ROOT
        self.progress = Progress()

    @property
    def own(self) -> argparse.Namespace:
        """The options that only this command has."""
        return self._asked.own

    @cached_property
    def options(self) -> Options:
        """The common options. A process runs on what the host is: there one architecture is all of them."""
        if not self._asked.architectures and self.executor_name == "local":
            return dataclasses.replace(self._asked, architectures=(machine.architecture(),))
        return self._asked

    @cached_property
    def architectures(self) -> tuple[str, ...]:
        """What ``--arch`` said, nothing added."""
        return self._asked.architectures

    @cached_property
    def shown_architectures(self) -> tuple[str, ...]:
        """Those that the tables of a run are limited to, none for all: a process runs on what the host is alone."""
        return self.options.architectures if self.executor_name == "local" else ()

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix, with every name of the command line found in it."""
        matrix = load_matrix(self._asked.matrix or ROOT / "matrix.yaml", builds=not self.inside_image)
        check_names(self._asked, matrix)
        return matrix

    @cached_property
    def inside_image(self) -> bool:
        """Whether this is the runner of an image."""
        return self._local.inside_image

    @cached_property
    def store(self) -> Store:
        """Where records lie and land."""
        if self._asked.results is not None:
            return Store(resolved(self._asked.results))
        if self.inside_image:
            return store_inside_image(self.progress.say)
        return store_of_checkout(ROOT)

    @cached_property
    def executor_name(self) -> str:
        """Docker or local, whether or not it can be had."""
        return self._asked.executor or ("local" if self.inside_image else "docker")

    @cached_property
    def executor(self) -> Executor:
        """Where launches run; nothing is started and nothing installed by asking for it.

        Raises:
            DockerUnavailable: no daemon answers.
            PythonNotReady: the Python that runs this has no Docker library.
        """
        if self.executor_name == "local":
            return self._local
        # Imported here: inside an image there is neither a daemon to speak to nor its library.
        try:
            from runner.executors.docker import DockerExecutor  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise without_library(error) from error

        return DockerExecutor(ROOT, self.store.root / "logs")

    @cached_property
    def selection(self) -> Selection:
        """The part of the matrix that was asked for."""
        return Selection(
            profile=self.options.profile,
            architectures=self.options.architectures,
            only=self.options.only,
            seeds=self.options.seeds,
            limits=self.options.limits,
        )

    @cached_property
    def plan(self) -> Plan:
        """What becomes of each selected cell."""
        plan = make_plan(self.matrix, self.selection, self.executor, self.store, fresh=self.options.fresh)
        self.warn_of_future(plan.records)
        return plan

    def warn_of_future(self, records: Iterable[Record]) -> None:
        """Say so where a clock that was ahead has dated records: they count as the oldest."""
        if warning := future_in_words(records):
            self.progress.say(f"warning: {warning}")

    def require_host(self, *, fix: bool = False, only_builds: bool = False) -> None:
        """See, where containers are used, that images can be built and run; install first if so asked.

        Args:
            fix: install what is lacking, also where the call did not ask for it.
            only_builds: nothing of the images is started. A build runs no foreign binary, so it needs no emulation.

        Raises:
            HostNotReady, DockerUnavailable: with the exact commands.
        """
        matrix = (
            self.matrix
        )  # its faults come first: nothing is looked at, let alone installed, before it is right
        if self.executor.name == "docker":
            from runner.host.setup import set_up  # noqa: PLC0415 (a host's business: no image needs it)

            wanted = self.architectures or matrix.architectures
            if only_builds:
                wanted = (machine.architecture(),)
            for toolchain in matrix.toolchains.values():
                set_up(wanted, toolchain, say=self.progress.say, fix=fix or self._asked.set_up)

    @cached_property
    def _local(self) -> LocalExecutor:
        return LocalExecutor(ROOT)


@dataclass(frozen=True, kw_only=True)
class Command(CommandSyntax):
    """One word of the command line and what it does: ``run`` returns the exit code and prints its result on stdout."""

    run: Callable[[Context], int]
