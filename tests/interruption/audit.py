"""What must hold, whatever struck: looked at during the run, after it, and after the next call."""

import fcntl
import hashlib
import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from runner.daemon.connection import connect
from runner.executors.sweep import OWNER_LABEL
from runner.records.ledger.file import read_ledger
from runner.records.record import Record
from runner.records.store import Store, newest_by_key
from runner.system.cpu_locks import DIRECTORY_NAME
from runner.system.errors import ForgeBenchError
from runner.system.hashes import file_hashes
from runner.system.orphans import OWNER_VARIABLE
from runner.system.owner import Owner

_TRACEBACK = re.compile(r"^Traceback |^Exception ignored", re.MULTILINE)
_READ_EVERY_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Whole:
    """What an uninterrupted run leaves: the measure of every other."""

    keys: frozenset[str]
    inputs: dict[str, str]
    references: dict[str, str]
    pages: frozenset[str]

    @classmethod
    def of(cls, results: Path) -> "Whole":
        """Of a directory that a run has left."""
        return cls(
            keys=passing_keys(results),
            inputs=file_hashes(results / "inputs"),
            references=file_hashes(results / "references"),
            pages=frozenset(str(path.relative_to(results)) for path in results.glob("tables/*/*.md")),
        )


def passing_keys(results: Path) -> frozenset[str]:
    """The cells whose newest record is no failure."""
    return frozenset(
        key for key, record in newest_by_key(Store(results).records()).items() if not record.failed
    )


@dataclass
class Reader:
    """Reads a store over and over while runners write to it. No record may be half, change, or go away."""

    results: Path
    violations: list[str] = field(default_factory=list)
    reads: int = 0

    def __post_init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read a last time and end."""
        self._stop.set()
        self._thread.join()
        self._read()

    def _read_on(self) -> None:
        while not self._stop.wait(_READ_EVERY_SECONDS):
            self._read()

    def _read(self) -> None:
        try:
            records = Store(self.results).records()
        except ForgeBenchError as error:
            self._violation(f"a half record was read: {error}")
            return
        self.reads += 1
        now = {record.identifier: _seal_of(record) for record in records}
        for identifier, seal in self._seen.items():
            if identifier not in now:
                self._violation(f"record {identifier} was lost")
            elif now[identifier] != seal:
                self._violation(f"record {identifier} was changed")
        self._seen |= now

    def _violation(self, text: str) -> None:
        if text not in self.violations:
            self.violations.append(text)


def check_words(text: str) -> Iterable[str]:
    """Nobody is shown a traceback."""
    if _TRACEBACK.search(text):
        yield f"a traceback was shown: ...{text[-1500:]}"


def check_whole(results: Path, whole: Whole) -> Iterable[str]:
    """After the next call everything is there that an uninterrupted run leaves, and nothing half."""
    keys = passing_keys(results)
    if keys != whole.keys:
        yield f"{len(whole.keys - keys)} cells are missing, {len(keys - whole.keys)} are too many"
    for area, expected in (("inputs", whole.inputs), ("references", whole.references)):
        found = {name: value for name, value in file_hashes(results / area).items() if ".part-" not in name}
        if found != expected:
            names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
            yield f"{area} differ from an uninterrupted run's: {names[:3]}"
    pages = {str(path.relative_to(results)) for path in results.glob("tables/*/*.md")}
    if pages != whole.pages:
        yield f"pages differ: {sorted(pages ^ whole.pages)}"
    try:
        read_ledger(results / "ledger.jsonl")
    except ForgeBenchError as error:
        yield f"the chain of the ledger is broken: {error}"
    for path in results.rglob(".part-*"):
        yield f"left behind: {path.relative_to(results)}"


def check_records_once(before: Iterable[Record], after: Iterable[Record], whole: Whole) -> Iterable[str]:
    """The next call ran what was not stored, and nothing else."""
    before, after = list(before), list(after)
    known = {record.identifier for record in before}
    stored = {key for key, record in newest_by_key(before).items() if not record.failed}
    ran = [record.key for record in after if record.identifier not in known]
    if len(ran) != len(set(ran)) or set(ran) != whole.keys - stored:
        yield f"the next call ran {len(ran)} cells, of which {len(set(ran) & stored)} were stored already"


def check_processes(owners: Iterable[Owner]) -> Iterable[str]:
    """No process of a launch outlives its runner; nor does a docker command line."""
    tokens = {str(owner) for owner in owners}
    sessions = {owner.pid for owner in owners}
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            if process.environ().get(OWNER_VARIABLE) in tokens or os.getsid(process.pid) in sessions:
                yield f"left behind: process {' '.join(process.cmdline())[:120]}"
        except (psutil.Error, OSError):
            continue


def check_temporary(directory: Path) -> Iterable[str]:
    """Nothing lies about in the temporary directory. The locks of CPUs stay, and nobody holds one."""
    for path in directory.glob("forge-bench-*"):
        if path.name != DIRECTORY_NAME:
            yield f"left behind: {path.name}"
    for path in directory.glob(f"{DIRECTORY_NAME}/*"):
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield f"left behind: the lock {path.name} is held"


class DaemonAudit:
    """Containers and volumes on the daemon that belong to given runners."""

    def __init__(self, *, alone: bool) -> None:
        self._client = connect(timeout=120)[0]
        # With nobody else on the daemon even a volume without any label tells of a leak.
        self._alone = alone
        self._volumes_before = self._all_volumes() if alone else frozenset()

    def running_containers(self, owners: Iterable[Owner]) -> dict[str, str]:
        """The names of those that run, of these runners, and their ids."""
        return {
            each["Names"][0].lstrip("/"): each["Id"]
            for each in self._containers(owners)
            if each["State"] == "running"
        }

    def kill(self, container: str) -> None:
        """SIGKILL, as anybody on the machine could send it."""
        self._client.api.kill(container, "SIGKILL")

    def check(self, owners: Iterable[Owner]) -> Iterable[str]:
        """Nothing of these runners is there any more."""
        owners = list(owners)
        for each in self._containers(owners):
            yield f"left behind: container {each['Names'][0]} ({each['State']})"
        tokens = {str(owner) for owner in owners}
        for each in self._client.api.volumes(filters={"label": OWNER_LABEL})["Volumes"] or ():
            if each["Labels"][OWNER_LABEL] in tokens:
                yield f"left behind: volume {each['Name'][:12]}"
        if self._alone:
            for name in self._all_volumes() - self._volumes_before:
                yield f"left behind: a volume that nobody has labelled, {name[:12]}"

    def _containers(self, owners: Iterable[Owner]) -> list[dict]:
        tokens = {str(owner) for owner in owners}
        found = self._client.api.containers(all=True, filters={"label": OWNER_LABEL})
        return [each for each in found if each["Labels"][OWNER_LABEL] in tokens]

    def _all_volumes(self) -> frozenset[str]:
        return frozenset(each["Name"] for each in self._client.api.volumes()["Volumes"] or ())


def _seal_of(record: Record) -> str:
    return hashlib.sha256(record.content_sha256.encode()).hexdigest()
