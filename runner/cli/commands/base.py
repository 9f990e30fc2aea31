"""The interface of every command, and the context that it gets."""

import argparse
import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.words.name_check import check_names
from runner.cli.words.options import Options
from runner.cli.words.syntax import CommandSyntax
from runner.daemon.unavailable import without_library
from runner.executors.base import Executor
from runner.executors.fleet import FleetExecutor
from runner.executors.local import LocalExecutor
from runner.matrix import Matrix, Platform, Slurm, load_matrix
from runner.matrix.source import MOST_BYTES
from runner.planning.cells import Selection
from runner.planning.plan import make_plan
from runner.planning.planned import Plan
from runner.records.order import future_in_words
from runner.records.publication import Publication, is_publication
from runner.records.record import Record
from runner.records.results_directory import published_results, store_inside_image, store_of_checkout
from runner.records.source import RecordSource, named_path, store_at
from runner.records.store import Store
from runner.running.occasion import Occasion
from runner.running.progress import Progress
from runner.system import machine
from runner.system.bounded_reading import read_bounded
from runner.system.checkout import ROOT, require_checkout
from runner.system.errors import UsageError
from runner.system.git import checkout_at
from runner.system.paths import resolved
from runner.system.version import VERSION

if TYPE_CHECKING:
    from runner.executors.places import Places
    from runner.running.run import Apart


class Context:
    """The call's options and the objects that follow from them.

    Each object is made when a command first asks for it.
    """

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
        """The common options. The local executor has only the host's architecture."""
        if not self._asked.architectures and self.executor_name == "local":
            return dataclasses.replace(self._asked, architectures=(machine.architecture(),))
        return self._asked

    @cached_property
    def architectures(self) -> tuple[str, ...]:
        """The values of ``--arch``, unchanged."""
        return self._asked.architectures

    @cached_property
    def architectures_here(self) -> tuple[str, ...]:
        """The architectures that the selected platforms run on this machine, emulated or not."""
        own = machine.architecture()
        chosen = self.selection.platforms_of(self.matrix, lambda each: each.architecture != own)
        return tuple(dict.fromkeys(each.architecture for each in chosen if each.is_here))

    @cached_property
    def shown_architectures(self) -> tuple[str, ...]:
        """The architectures that the tables of a run are limited to; empty for all.

        The local executor has only the host's.
        """
        return self.options.architectures if self.executor_name == "local" else ()

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix. Every name of the command line was found in it."""
        matrix = self.any_matrix
        check_names(self._asked, matrix)
        return matrix

    @cached_property
    def any_matrix(self) -> Matrix:
        """The matrix of a command whose names are those of records, which a matrix need not have."""
        if self._asked.matrix is None:
            require_checkout()
        return load_matrix(self.matrix_path, builds=not self.inside_image)

    @property
    def matrix_path(self) -> Path:
        """The file of the matrix."""
        return self._asked.matrix or ROOT / "matrix.yaml"

    @cached_property
    def occasion(self) -> Occasion:
        """What the ledger keeps of this call."""
        checkout, selected = checkout_at(ROOT), self.selection
        return Occasion(
            version=VERSION,
            commit=checkout.commit if checkout else None,
            dirty=bool(checkout.changed) if checkout else None,
            matrix_sha256=hashlib.sha256(read_bounded(self.matrix_path, MOST_BYTES)).hexdigest(),
            options={
                "profile": selected.profile,
                "arch": selected.architectures,
                "platform": selected.platforms,
                "only": selected.only,
                "seeds": tuple(map(str, selected.seeds)),
                "limits": selected.limits,
                # Ledgers of earlier runners have no such word.
                **({"toolchain": selected.toolchains} if selected.toolchains else {}),
                "fresh": self.options.fresh,
            },
        )

    @cached_property
    def inside_image(self) -> bool:
        """Whether this is the runner of an image."""
        return self._local.inside_image

    @cached_property
    def store(self) -> Store:
        """The store that records are read from and written to.

        Raises:
            StoreError: ``--results`` names a publication.
        """
        if self._asked.results is not None:
            return store_at(resolved(self._asked.results))
        if self.inside_image:
            return store_inside_image(self.progress.say)
        require_checkout()
        return store_of_checkout(ROOT)

    @cached_property
    def published(self) -> Path:
        """Where the publications of this checkout lie."""
        return published_results(ROOT)

    def published_from(self, folder: Path) -> str | None:
        """The way from a folder of pages to the publications; None where the folder lies outside the checkout."""
        inside = resolved(folder).is_relative_to(ROOT) and self.published.is_dir()
        return Path(os.path.relpath(self.published, resolved(folder))).as_posix() if inside else None

    @property
    def allowed_signers(self) -> Path:
        """The file of those whose signature of a publication counts."""
        return self.published / "allowed_signers"

    def publication_at(self, place: Path) -> Publication | None:
        """The publication in a folder, after it was said what it can be held to; None where there is none.

        Raises:
            DamagedRecord, DamagedLedger: it is not what it says of itself.
        """
        if not is_publication(place):
            return None
        from runner.publishing.check import standing_of  # noqa: PLC0415 (only for publications)

        publication = Publication.at(place)
        for line in standing_of(publication, self.allowed_signers):
            self.progress.say(line)
        return publication

    @property
    def results_are_named(self) -> bool:
        """Whether the call names a results directory with ``--results``."""
        return self._asked.results is not None

    @cached_property
    def source(self) -> RecordSource:
        """The source for reading records: the store, or the folder or publication that ``--results`` names.

        Raises:
            UsageError: the named place does not exist.
        """
        return self.store if self._asked.results is None else self.source_at(str(self._asked.results))

    def source_at(self, text: str) -> RecordSource:
        """The publication of this name, or what lies in this folder, for reading.

        Raises:
            UsageError: it does not exist.
            DamagedRecord, DamagedLedger: it is a publication, and not what it says of itself.
        """
        place = named_path(text, self.published)
        _require_directory(place)
        return self.publication_at(place.resolve()) or Store(place.resolve())

    def chosen(self, records: Iterable[Record]) -> tuple[Record, ...]:
        """The records that --only, --arch, --seeds and --limits select, of every profile.

        They may be of benchmarks and limits that the matrix no longer has.
        """
        options = self.options
        wanted = Selection(profile="", only=options.only)
        return tuple(
            record
            for record in records
            if wanted.takes(record.benchmark, record.implementation, record.case)
            and (not self.architectures or record.image.architecture in self.architectures)
            and (not options.seeds or record.seed in options.seeds)
            and (not options.limits or record.cell.limits in options.limits)
        )

    @cached_property
    def stored(self) -> Store:
        """The store of a command that creates none. A directory that ``--results`` names must exist.

        Raises:
            UsageError: the directory does not exist.
            StoreError: it is a publication.
        """
        if self._asked.results is not None:
            _require_directory(self._asked.results)
        return self.store

    @cached_property
    def executor_name(self) -> str:
        """The executor's name, docker or local, even where it cannot be used."""
        return self._asked.executor or ("local" if self.inside_image else "docker")

    @cached_property
    def executor(self) -> "LocalExecutor | Places":
        """The executor of launches. Reading this property starts and installs nothing.

        Raises:
            DockerUnavailable: no daemon answers.
            PythonNotReady: the Python that runs this has no Docker library.
        """
        local = self._local if self.executor_name == "local" else None
        if local is not None and not any(each.slurm for each in self.any_matrix.platforms.values()):
            return local
        # Imported here: inside an image there is neither a daemon to speak to nor its library.
        try:
            from runner.executors.places import Places  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise without_library(error) from error

        return Places(
            ROOT,
            self.store.root / "logs",
            fleet=self._fleet,
            registry=self.any_matrix.registry,
            short_names_of=next(iter(self.any_matrix.toolchains)),
            local=local,
        )

    @property
    def apart(self) -> "Apart | None":
        """What lets several machines measure at the same time; None where there is this machine alone."""
        executor = self.executor
        return None if isinstance(executor, LocalExecutor) else executor.apart

    def _fleet(self, platform: Platform, where: Slurm) -> Executor:
        return FleetExecutor(
            platform,
            where,
            name=self.executor_name,
            root=ROOT,
            matrix=self.matrix_path.resolve(),
            results=self.store.root.resolve(),
        )

    @cached_property
    def selection(self) -> Selection:
        """The requested part of the matrix."""
        return Selection(
            profile=self.options.profile,
            architectures=self.options.architectures,
            platforms=self.options.platforms,
            only=self.options.only,
            seeds=self.options.seeds,
            limits=self.options.limits,
            toolchains=self.options.toolchains,
        )

    @cached_property
    def plan(self) -> Plan:
        """The plan for each selected cell."""
        plan = make_plan(self.matrix, self.selection, self.executor, self.store, fresh=self.options.fresh)
        self._warn_of_future(plan.records)
        return plan

    @cached_property
    def records(self) -> list[Record]:
        """Every record of ``source``, oldest first. A warning names the number of records from the future."""
        records = self.source.records()
        self._warn_of_future(records)
        return records

    def _warn_of_future(self, records: Iterable[Record]) -> None:
        if warning := future_in_words(records):
            self.progress.say(f"warning: {warning}")

    def require_host(self, *, fix: bool = False, only_builds: bool = False) -> None:
        """Check, where containers are used, that images can be built and run; install first if the user asked for it.

        Args:
            fix: install what is missing, even if the call did not ask for it.
            only_builds: whether the images are only built, not started. A build runs no foreign binary, so it needs
                no emulation.

        Raises:
            HostNotReady, DockerUnavailable: with the exact commands.
        """
        matrix = (
            self.matrix
        )  # the matrix's faults come first: nothing is checked or installed before the matrix is valid
        if self.executor.name == "docker":
            from runner.host.setup import set_up  # noqa: PLC0415 (a host's business: no image needs it)

            wanted = (machine.architecture(),) if only_builds else self.architectures_here
            for toolchain in self.selection.toolchains_of(matrix):
                set_up(wanted, toolchain, say=self.progress.say, fix=fix or self._asked.set_up)

    @cached_property
    def _local(self) -> LocalExecutor:
        return LocalExecutor(ROOT)


def _require_directory(place: Path) -> None:
    place = resolved(place)
    if not place.is_dir():
        raise UsageError(
            what=f"there is no results directory {place}",
            why="it is no directory" if place.exists() else "it is not there",
            fix="check the spelling; a run makes the directory that --results names",
        )


@dataclass(frozen=True, kw_only=True)
class Command(CommandSyntax):
    """One word of the command line and what it does: ``run`` returns the exit code and prints its result on stdout."""

    run: Callable[[Context], int]
