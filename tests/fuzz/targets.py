"""What is fed with untrusted bytes, and what may come of it: a valid value, or an error of ours. Nothing else."""

import contextlib
import gzip
import hashlib
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from msgspec import convert, to_builtins

from runner.executors.keeper import Keeper
from runner.executors.watch import Streams
from runner.figures import comparison
from runner.gate import expected_counts, judge
from runner.images.spec import ImageSpec
from runner.matrix import Limits, Matrix, load_matrix
from runner.matrix.expressions import ExpressionError, evaluate, names_in
from runner.matrix.images import ImageTarget
from runner.planning.cells import Selection, content_key, select
from runner.planning.estimates import Durations
from runner.planning.key_differences import Earlier
from runner.planning.plan import make_plan
from runner.planning.recipe import lacks, load_work
from runner.publishing.plans import plans_of
from runner.records.execution import Execution, ExecutionKind
from runner.records.failure import Failure
from runner.records.image import ImageFacts
from runner.records.ledger.file import append, read_ledger
from runner.records.ledger.lines import RemovedLine
from runner.records.measured import Episodes, Measurement
from runner.records.publication import FACTS, RECORDS, Publication, counts_of
from runner.records.record import Record, content_hash, is_intact, record_of, seal
from runner.records.store import Store, newest_by_key
from runner.referee.protocol import Reader, arguments
from runner.report.export.table import table_of_records, table_of_repetitions
from runner.report.export.write import as_csv, as_parquet
from runner.report.record_page import record_page
from runner.report.tables.markdown import render_table
from runner.report.tables.pages import render_pages
from runner.report.write import write_tables
from runner.system import machine
from runner.system.cpus import CpuSet
from runner.system.errors import ContradictoryRecord, ForgeBenchError, MatrixError, VerificationDiffers
from runner.system.paths import portable
from runner.verify.images import Likeness
from runner.verify.judge import Pair
from runner.verify.judge import judge as judge_pairs
from runner.verify.read import read_records
from runner.verify.report import Report, first_difference
from runner.verify.report import as_json as verification_as_json
from runner.verify.report import as_text as verification_as_text
from tests.fuzz import corpus
from tests.fuzz.mutate import mutate_bytes, mutate_json, mutate_yaml


@dataclass(frozen=True)
class Target:
    """One entrance. ``run`` raises where what came of the input is not allowed."""

    name: str
    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], None]
    along: Callable[[bytes, random.Random], bytes] | None = None
    # More often than others where the surface is larger.
    weight: int = 1
    seconds: float = 5.0

    def draw(self, draw: random.Random) -> bytes:
        """An input: a real one, changed."""
        seeds = self.seeds()
        data = draw.choice(seeds)
        if self.along is not None and draw.random() < 0.6:
            # What is no such text any more, or cannot be written as one.
            with contextlib.suppress(ValueError, RecursionError, yaml.YAMLError):
                data = self.along(data, draw)
                if draw.random() < 0.8:
                    return data
        return mutate_bytes(data, seeds, draw)


# Docker's own grammar of a local name with a tag.
_TAG = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class Broken(AssertionError):
    """Something was let through that must not be, or refused in a way that it must not be."""


def expect(condition: bool, what: str) -> None:
    """Python's own assert can be switched off."""
    if not condition:
        raise Broken(what)


# --- the matrix -----------------------------------------------------------------------------------------------------


def _matrix(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "matrix.yaml"
        path.write_bytes(data)
        try:
            matrix = load_matrix(path)
        except MatrixError as error:
            _expect_message(error)
            return
    _use_matrix(matrix)


def _use_matrix(matrix: Matrix) -> None:
    """What is done with a valid matrix before anything is started: none of it may fail any more."""
    executions = {name: Execution(kind=ExecutionKind.NATIVE, emulator=None) for name in matrix.platforms}
    for profile in matrix.profiles:
        cells = select(matrix, Selection(profile=profile), executions)
        for cell, _ in zip(cells, range(200), strict=False):
            content_key(
                cell,
                execution_hash="0" * 64,
                execution=executions[cell.platform.name],
                executor="docker",
                machine=machine.fingerprint(),
            )
            expected_counts(cell.benchmark, cell.parameters)
            words = arguments([(cell.case.name, dict(cell.parameters))], cell.seed)
            for word in (*words, *cell.implementation.command, *cell.benchmark.inputs):
                expect("\0" not in word, f"no process can be given {word!r}")
                word.encode()
            for word in words[1::2]:
                expect(not word.startswith("-"), f"{word!r} would be an option")
            names = [str(each) for each in cell.names().values()]
            names += [output.file for output in cell.benchmark.gate.outputs]
            # As runner.running.run names a launch, its container and its log.
            launch = f"{cell.benchmark.name}-{cell.implementation.name}-{cell.platform.name}-s{cell.seed}"
            names.append(f"{launch}-{'0' * 8}.log")
            expect(all(portable(name) for name in names), f"a name that is no file's: {names}")
            spec = ImageSpec(
                target=cell.implementation.image,
                architecture=cell.platform.architecture,
                toolchain=cell.toolchain,
            )
            expect(_TAG.fullmatch(spec.tag) is not None, f"no tag of an image: {spec.tag!r}")
        render_pages(matrix, [], profile=profile)


# --- expressions ----------------------------------------------------------------------------------------------------


def _expression(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ExpressionError):
        names = names_in(text)
        value = evaluate(text, dict.fromkeys(names, 2**53 - 1))
        expect(type(value) is int and abs(value) < 2**53, f"{value!r} is no bounded whole number")


# --- records --------------------------------------------------------------------------------------------------------


def _record(data: bytes) -> None:
    """As bytes of a file, and, where they are an object, sealed as anybody can seal it."""
    stored_record(data)
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(data)
        if isinstance(value, dict) and not is_intact(value):
            value.pop("content_sha256", None)
            stored_record(json.dumps(seal(value)).encode())


def stored_record(data: bytes) -> None:
    """A store with this file among its records, and everything that reads it."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        store = Store(directory)
        folder = store.records_directory / "gae"
        folder.mkdir(parents=True)
        (folder / "x.json").write_bytes(data)
        with contextlib.suppress(ForgeBenchError):
            _verify(read_records(folder / "x.json")[0])
        try:
            records = store.records()
        except ContradictoryRecord as error:
            _expect_message(error)
            # Pages and plans break on no record of the right form, not even on one that no reader hands them.
            records = [record_of(json.loads(data))]
        except ForgeBenchError as error:
            _expect_message(error)
            return
        before = set(directory.rglob("*"))
        _use_records([*_company(), *records], directory)
        outside = [path for path in set(directory.rglob("*")) - before if "tables" not in path.parts]
        expect(not outside, f"written beside the tables: {outside}")


def _publication(data: bytes) -> None:
    """As records.jsonl.gz, and as the stream in it; each with facts that are right about it, as a forger has them."""
    facts = json.loads(corpus.publication_facts()[0])
    _read_publication(facts, data)
    stated = {"bytes": len(data) or 1, "sha256": hashlib.sha256(data).hexdigest()}
    count = data.count(b"\n") or 1
    counts = {"records": count, "cells": count, "failed": 0}
    _read_publication({**facts, "stream": stated, "counts": counts}, gzip.compress(data))


def _ledger(data: bytes) -> None:
    """Reading says what is wrong or gives plans. Appending keeps every whole line that was there."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "ledger.jsonl"
        path.write_bytes(data)
        try:
            for plan in plans_of(read_ledger(path).lines):
                plan.facts()
        except ForgeBenchError as error:
            _expect_message(error)
        try:
            append(path, lambda previous, time: RemovedLine(previous=previous, time=time, records=0))
        except ForgeBenchError as error:
            _expect_message(error)
        whole = data[: data.rfind(b"\n") + 1]
        expect(path.read_bytes().startswith(whole), "a line of the ledger was lost")


def _publication_facts(data: bytes) -> None:
    """As publication.json beside a stream that nobody changed."""
    with contextlib.suppress(ValueError, RecursionError):
        _read_publication(json.loads(data), corpus.streams()[1])


def _read_publication(facts: Any, compressed: bytes) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        (directory / FACTS).write_text(json.dumps(facts), encoding="utf-8")
        (directory / RECORDS).write_bytes(compressed)
        try:
            records = Publication.at(directory).records()
        except ForgeBenchError as error:
            _expect_message(error)
            return
        expect(all(is_intact(record.plain()) for record in records), "a record whose seal is broken")
        expect(counts_of(records) == facts["counts"], "other records than are counted")


def _verify(record: Record) -> None:
    """As if its cell had been run again, and given what honest records of other cells and machines say."""
    others = [*_company()[:3], record_of(json.loads(corpus.records()[-1])), record]
    pairs = [Pair(old=record, new=None, why_not="not run", likeness=Likeness.SAME)]
    # Only of what holds its work there is ever a new record.
    if lacks(record) is None:
        pairs += [Pair(old=record, new=other, why_not=None, likeness=Likeness.SAME) for other in others]
        pairs += [Pair(old=other, new=record, why_not=None, likeness=Likeness.REBUILT) for other in others]
    report = Report(judged=judge_pairs(pairs), stand_ins=(), launches=1, machine="x", foreign={})
    json.loads(verification_as_json(report))
    told = VerificationDiffers(what="x", why=first_difference(report), fix="x")
    for text in (verification_as_text(report), str(told)):
        _expect_shown(text)


@cache
def _company() -> tuple[Record, ...]:
    return tuple(record_of(json.loads(text)) for text in corpus.company())


@dataclass(frozen=True)
class _Kept(Store):
    """A store whose records were read already."""

    kept: tuple[Record, ...] = ()

    def records(self) -> list[Record]:
        return list(self.kept)


def _use_records(records: list[Record], directory: Path) -> None:
    """Everything that reads records, with one among them that a stranger made."""
    matrix = corpus.shipped()
    newest = list(newest_by_key(records).values())
    store = _Kept(directory, tuple(records))
    for path in write_tables(matrix, newest, store.tables_directory / "quick", profile="quick"):
        _expect_tables_whole(path.read_text(encoding="utf-8"))
    for page in render_pages(matrix, newest[-1:], profile="full"):
        _expect_tables_whole(page.text)
    for base, against in (("numpy", "rust"), ("rust", "torchrl"), ("torchforge", "torchforge")):
        with contextlib.suppress(ForgeBenchError):
            found = comparison.compare(newest, benchmark="gae", base=base, against=against, metric="seconds")
            comparison.as_json(found)
            comparison.as_text(found, toolchain="trixie", limits="default")
    plan = make_plan(matrix, Selection(profile="quick"), Still(), store)
    for each in plan.cells:
        _expect_shown(each.why)
    Durations(records).total(plan.launches)
    Earlier(records)
    for record in records:
        _expect_shown(record_page(record))
        if lacks(record) is None:
            with contextlib.suppress(ForgeBenchError):
                load_work(record)
    for table in (table_of_records(records), table_of_repetitions(records)):
        as_csv(table)
        as_parquet(table)


def _expect_tables_whole(text: str) -> None:
    """Every row of a table has as many cells as its head: nothing in a cell can end it."""
    columns: int | None = None
    fence: str | None = None
    for line in text.splitlines():
        if fence is not None or line.startswith("```"):
            opened = line[: len(line) - len(line.lstrip("`"))]
            fence = opened if fence is None else None if line == fence else fence
            columns = None
            continue
        if not line.startswith("|"):
            columns = None
            continue
        bars = line.replace("\\\\", "").replace("\\|", "").count("|")
        expect(columns in (None, bars), f"a row of {bars} bars in a table of {columns}: {line}")
        columns = bars


class Still:
    """An executor that is never asked to start anything."""

    name = "docker"

    def execution(self, platform: Any) -> Execution:
        return Execution(
            kind=ExecutionKind.NATIVE if platform.name == "amd64" else ExecutionKind.EMULATED, emulator=None
        )

    def machine(self, platform: Any) -> dict[str, Any]:
        del platform
        return machine.describe()

    def state(self, platform: Any) -> dict[str, Any]:
        del platform
        return machine.state()

    def away(self, platform: Any) -> str | None:
        del platform
        return None

    def left_out(self, implementation: Any, platform: Any) -> str | None:
        del implementation, platform
        return None

    def cpus(self, limits: Any, platform: Any) -> CpuSet:
        del platform
        return CpuSet(cpus=tuple(range(limits.cpus)), siblings=None)

    def identify(self, target: ImageTarget, toolchain: Any, platform: Any) -> str:
        del toolchain
        return content_hash([target.name, platform.name])


# --- what an implementation prints and writes -----------------------------------------------------------------------


def _measurement(data: bytes) -> None:
    cases = ["T=128", "T=2048", "CartPole-v1"]
    shares: list[float] = []
    reader = Reader(cases=cases, on_progress=shares.append)
    streams = Streams(reader.line)
    half = len(data) // 2
    streams.feed(data[:half], data[half:])
    streams.feed(data[half:], None)
    streams.close(whole=True)
    expect(all(0 <= share <= 1 for share in shares), f"progress beyond its bounds: {shares[:9]}")
    for case in cases:
        failure = reader.failure_of(case)
        expect((failure is None) <= (case in reader.measurements), f"neither a failure nor a figure: {case}")
        if failure is not None:
            _expect_line(failure.detail)
        measurement = reader.measurements.get(case)
        if measurement is not None:
            # Raises where no record could hold it.
            convert(measurement, Measurement)
            content_hash(measurement)


def _output(name: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        benchmark = corpus.shipped().benchmarks["dqn" if name.endswith((".safetensors", ".json")) else "gae"]
        with tempfile.TemporaryDirectory() as temporary:
            mine, theirs = Path(temporary) / "mine", Path(temporary) / "theirs"
            for directory in (mine, theirs):
                directory.mkdir()
                for output in benchmark.gate.outputs:
                    seeds = corpus.arrays() if output.file.endswith(".npy") else corpus.tensors()
                    (directory / output.file).write_bytes(seeds[0])
                if benchmark.gate.episodes:
                    (directory / benchmark.gate.episodes).write_bytes(corpus.episodes()[0])
            (mine / name).write_bytes(data)
            metric = "training_seconds" if benchmark.name == "dqn" else "seconds"
            judgement = judge(
                benchmark,
                parameters={
                    "batch": 1,
                    "length": 8,
                    "steps": 12000,
                    "train_frequency": 10,
                    "learning_starts": 10,
                },
                measurement={"metrics": {metric: [1e-3]}, "counts": {"elements": 8}},
                wall_seconds=1.0,
                outputs=mine,
                reference=theirs,
            )
        details = [check.detail for check in judgement.checks]
        if judgement.failure is not None:
            details.append(judgement.failure.detail)
        for detail in details:
            _expect_line(detail)
        # Raises where no record could hold them.
        episodes = to_builtins(judgement.episodes)
        convert(episodes, Episodes | None)
        content_hash([details, episodes, [check.share for check in judgement.checks]])

    return run


class StoredContainer:
    """What the keeper asks of a container: the archive of its outputs, and whether it still runs."""

    status = "running"

    def __init__(self, archive: bytes) -> None:
        self._archive = archive
        self.attrs: dict[str, Any] = {"Mounts": []}

    def reload(self) -> None:
        return

    def get_archive(self, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        del path

        def chunks() -> Iterator[bytes]:
            for start in range(0, len(self._archive), 1000):
                yield self._archive[start : start + 1000]

        return chunks(), {}


def _archive(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        outer = Path(temporary)
        outputs = outer / "a" / "b" / "outputs"
        outputs.mkdir(parents=True)
        limits = Limits(name="fuzz", cpus=1, memory_bytes=64 * 2**20, pids=1, threads=1)
        container: Any = StoredContainer(data)
        failure = Keeper(container, limits, Future()).fetch(outputs)
        expect(failure is None or isinstance(failure, Failure), f"{failure!r}")
        if failure is not None:
            content_hash(failure.detail)
        for path in outer.rglob("*"):
            expect(path.is_relative_to(outputs) or outputs.is_relative_to(path), f"written outside: {path}")
            expect(not path.is_symlink(), f"a link: {path}")
            expect(path.is_dir() or path.is_file(), f"neither folder nor file: {path}")


def _probe(data: bytes) -> None:
    """What is read back from the store: versions of an image, the stamp of the tables, what an image printed."""
    with tempfile.TemporaryDirectory() as temporary:
        store = Store(Path(temporary))
        (store.root / "probes").mkdir()
        (store.root / "probes" / f"{'0' * 64}.json").write_bytes(data)
        found = store.read_probe("sha256:" + "0" * 64)
        expect(found is None or all(isinstance(value, str | None) for value in found.values()), f"{found}")
        tables = store.tables_directory / "quick"
        tables.mkdir(parents=True)
        victim = store.root / "victim.md"
        victim.write_text("mine", encoding="utf-8")
        (tables / ".stamp.json").write_bytes(data)
        write_tables(corpus.shipped(), [], tables, profile="quick")
        expect(victim.exists(), "a stamp removed a file elsewhere")


def _text(data: bytes) -> None:
    """Any text in a table."""
    from runner.report.tables.markdown import Table  # noqa: PLC0415

    words = data.decode("utf-8", "surrogateescape").split("\n", 3)
    cells = (words + [""] * 4)[:4]
    table = render_table(Table(headers=("a", "b"), rows=((cells[0], cells[1]), (cells[2], cells[3]))))
    table.encode()
    expect(len(table.splitlines()) == 4, f"not four lines: {table!r}")
    _expect_tables_whole(table)


def _expect_line(text: str) -> None:
    """A detail goes to a terminal, into a record and into a table."""
    text.encode()
    expect(len(text) <= 1000, f"{len(text)} characters of detail")


def _expect_shown(text: str) -> None:
    """What goes to a terminal does not steer it."""
    text.encode()
    expect(all(each.isprintable() or each == "\n" for each in text), f"not fit for a terminal: {text!r}")


def _expect_message(error: ForgeBenchError) -> None:
    text = str(error)
    text.encode()
    expect(all(part for part in (error.what, error.why, error.fix)), f"an empty part: {text!r}")
    expect(len(text) < 200_000, f"{len(text)} characters of message")
    _expect_shown(text)


IMAGE = ImageFacts(
    target="core", architecture="amd64", identity=None, execution_hash="0" * 64, config_digest=None, manifest_digest=None
)  # fmt: skip

TARGETS = (
    Target("matrix", corpus.matrices, _matrix, mutate_yaml, weight=3, seconds=20),
    Target("expression", corpus.expressions, _expression, weight=1, seconds=1),
    Target("record", corpus.records, _record, mutate_json, weight=4, seconds=20),
    Target("publication", corpus.streams, _publication, weight=2, seconds=20),
    Target("ledger", corpus.ledgers, _ledger),
    Target("publication.json", corpus.publication_facts, _publication_facts, mutate_json),
    Target("measurement", corpus.lines, _measurement, mutate_json, weight=3),
    Target("npy", corpus.arrays, _output("advantages.npy"), weight=2),
    Target("safetensors", corpus.tensors, _output("update.safetensors")),
    Target("episodes", corpus.episodes, _output("episodes.json"), mutate_json),
    Target("archive", corpus.archives, _archive, weight=2),
    Target("probe", corpus.lines, _probe, mutate_json),
    Target("text", lambda: (b"a|b`c*d[e]<f>\nx_y\n~z\n&amp;",), _text),
)
