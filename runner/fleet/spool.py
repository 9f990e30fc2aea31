"""The directory through which a submitted plan and its jobs talk. All nodes share it.

slurm/<plan>/plan.json        what the jobs read: the launches, by the names of their cells
slurm/<plan>/secret           what nonces follow from; only this user can read it
slurm/<plan>/lock             held by the call that follows the plan
slurm/<plan>/answers/<n>.json what became of launch n: sealed records, or why there are none
slurm/<plan>/logs/*.log       what the jobs printed
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from runner.records.part import Amount, Hash, Name, Part, Positive
from runner.records.record import CellNames, Record
from runner.records.record_file import parse_record, record_text
from runner.records.store import Store
from runner.system.bounded_reading import read_bounded
from runner.system.errors import ForgeBenchError, StoreError
from runner.system.files import PART, folder, make_directory, write_atomically, writing_errors

AREA = "slurm"
_PLAN = "plan.json"
_LOCK = "lock"
_LARGEST = 2**28


class TaskCell(Part, frozen=True, kw_only=True):
    """A cell of a launch: its names and keys, and what of the reference's cell is not the same."""

    names: CellNames
    key: Hash
    key_version: Positive
    reference_key: Hash
    reference_seed: Amount


class Task(Part, frozen=True, kw_only=True):
    """A launch as its job reads it. ``name`` is for people; ``target_precision`` is as in a launch."""

    name: str
    cells: tuple[TaskCell, ...]
    deadline_seconds: float
    target_precision: float | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The content key of each cell."""
        return tuple(each.key for each in self.cells)


class Submitted(Part, frozen=True, kw_only=True):
    """A plan as its jobs read it.

    ``matrix`` is the path of the matrix's file, which all nodes share too. ``strict`` is whether records of disturbed
    launches are refused, also by a call that adopts the plan.
    """

    plan: Name
    profile: Name
    matrix: str
    executor: Literal["docker", "local"]
    tasks: tuple[Task, ...]
    strict: bool = False


class Answer(Part, frozen=True, kw_only=True):
    """What became of a launch on its node.

    Attributes:
        launch: its identifier; null where it was given up.
        node: where it ran.
        restarts: how many times Slurm had started it before.
        records: the text of each record.
        refused: the class of the error that ended it, and what it said; null where each cell has a record.
    """

    launch: str | None
    node: str
    restarts: Amount
    records: tuple[str, ...] = ()
    refused: tuple[str, str] | None = None

    def read_records(self) -> list[Record]:
        """The records, each checked against its seal.

        Raises:
            StoreError: one was altered on the way.
        """
        try:
            return [parse_record(text.encode(), place="a record from a node") for text in self.records]
        except ValueError as error:
            raise StoreError(
                what=f"a record that {self.node} answered with is damaged",
                why=str(error),
                fix="check the file system that the nodes share, then run again",
            ) from error


@dataclass(frozen=True, kw_only=True)
class Spool:
    """The directory of one submitted plan, in the results directory."""

    store: Store
    plan: str

    @property
    def root(self) -> Path:
        """The directory itself."""
        return self.store.place(AREA, self.plan)

    @property
    def logs(self) -> Path:
        """Where the jobs' output goes."""
        return self.root / "logs"

    def write(self, submitted: Submitted, secret: bytes) -> None:
        """Make the directory. Nobody but this user can look into it.

        Raises:
            NoSpace, StoreError: it cannot be written.
        """
        with writing_errors(self.root):
            make_directory(self.root.parent)
            self.root.mkdir(mode=0o700)
            self.logs.mkdir()
            descriptor = os.open(self.root / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secret)
        self.rewrite(submitted)

    def rewrite(self, submitted: Submitted) -> None:
        """Write the plan, which may have gained launches.

        Raises:
            NoSpace, StoreError: it cannot be written.
        """
        write_atomically(self.root / _PLAN, msgspec.json.encode(submitted).decode())

    def read(self) -> Submitted:
        """The plan.

        Raises:
            StoreError: there is none that can be read.
        """
        path = self.root / _PLAN
        try:
            return msgspec.json.decode(read_bounded(path, _LARGEST), type=Submitted)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error

    def secret(self) -> bytes:
        """What the nonces of the plan follow from.

        Raises:
            StoreError: it cannot be read.
        """
        path = self.root / "secret"
        try:
            return read_bounded(path, _LARGEST)
        except OSError as error:
            raise _unreadable(path, error) from error

    def answer(self, number: int, answer: Answer) -> None:
        """Answer for a launch. A later answer replaces an earlier one.

        Raises:
            NoSpace, StoreError: it cannot be written.
        """
        write_atomically(self.root / "answers" / f"{number}.json", msgspec.json.encode(answer).decode())

    def answered(self) -> set[int]:
        """The numbers of the launches that have an answer."""
        names = [entry.name for entry in folder(self.root / "answers") if not entry.name.startswith(PART)]
        return {int(name.removesuffix(".json")) for name in names if name.removesuffix(".json").isdigit()}

    def read_answer(self, number: int) -> Answer:
        """The answer for a launch.

        Raises:
            StoreError: it is no answer.
        """
        path = self.root / "answers" / f"{number}.json"
        try:
            return msgspec.json.decode(read_bounded(path, _LARGEST), type=Answer)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error

    @contextlib.contextmanager
    def followed(self) -> Iterator[bool]:
        """Hold the plan, so that one call follows it. False where a call that is alive does, or has just ended it.

        The system frees the lock of a call that was killed.
        """
        with writing_errors(self.root):
            try:
                file = (self.root / _LOCK).open("a")
            except FileNotFoundError:
                file = None
        if file is None:
            yield False
            return
        with writing_errors(self.root), file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            try:
                yield (self.root / _PLAN).exists()
            finally:
                # Closed first: NFS keeps an entry for an open file, so its directory could not be removed.
                file.close()
                if not (self.root / _PLAN).exists():
                    shutil.rmtree(self.root, ignore_errors=True)

    def remove(self) -> None:
        """Remove what the directory holds; all that it told is in the store. The directory goes with the lock."""
        with writing_errors(self.root):
            for entry in sorted(self.root.iterdir()):
                if entry.is_dir():
                    shutil.rmtree(entry)
                elif entry.name != _LOCK:
                    entry.unlink()


def spools(store: Store) -> list[Spool]:
    """The directories of plans that no call has followed to their end, oldest first."""
    return [
        Spool(store=store, plan=entry.name)
        for entry in folder(store.place(AREA))
        if (Path(entry.path) / _PLAN).is_file()
    ]


def refusal(error: ForgeBenchError) -> tuple[str, str]:
    """An error as an answer holds it."""
    return type(error).__name__, f"{error.what}: {error.why}"


def texts(records: list[Record]) -> tuple[str, ...]:
    """Records as an answer holds them."""
    return tuple(map(record_text, records))


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        what=f"{path} cannot be read",
        why=str(error),
        fix="see that all nodes share the results directory; remove this directory where its jobs have ended",
    )
