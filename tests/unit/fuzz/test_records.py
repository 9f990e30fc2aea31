"""Records from elsewhere: whoever reads them meets a record's form, whoever sealed it."""

import json
import os
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from runner.figures.comparison import compare
from runner.matrix import load_matrix
from runner.records.record import record_of, seal
from runner.records.record_file import parse_record
from runner.records.store import Store
from runner.report.tables.pages import render_benchmark
from runner.system.errors import DamagedRecord, NothingToCompare
from tests.fuzz import corpus
from tests.fuzz.targets import stored_record


def store_with(tmp_path: Path, content: bytes) -> Store:
    store = Store(tmp_path)
    folder = store.records_directory / "gae"
    folder.mkdir(parents=True)
    (folder / "x.json").write_bytes(content)
    return store


def changed(change: Callable[[dict[str, Any]], None], text: bytes = corpus.records()[0]) -> bytes:
    """A published record with a change, sealed anew as anybody can."""
    value = json.loads(text)
    value.pop("content_sha256")
    change(value)
    return json.dumps(seal(value)).encode()


def of(text: bytes) -> tuple[str, str]:
    cell = json.loads(text)["cell"]
    return cell["implementation"], cell["platform"]


def put(value: Any, *path: str) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put(None, "measurement"),
        put({}, "measurement"),
        put(["x"], "measurement", "metrics", "seconds"),
        put([], "measurement", "metrics", "seconds"),
        put([1e300], "measurement", "metrics", "seconds"),
        put(10**400, "measurement", "counts", "elements"),
        put("../../x", "cell", "benchmark"),
        put("gae\n", "cell", "case"),
        put("../x", "id"),
        put("../x", "launch", "id"),
        put("yesterday", "created_at"),
        put("2026-02-30T00:00:00+00:00", "created_at"),
        put(5, "machine", "simd"),
        put([], "machine", "caches"),
        put("many", "machine", "logical_cpus"),
        put({"x": 1}, "machine", "cpu_model"),
        put("high", "launch", "state", "load_1m"),
        put([1], "parameters", "length"),
        put("warp", "execution", "kind"),
        put({"kind": "\x1b[31m", "detail": "x"}, "failure"),
        put([{"step": 1e300, "length": 1, "return": 1}], "episodes"),
        put({}, "surprise"),
    ],
)
def test_a_sealed_record_that_has_no_records_form_is_damaged(tmp_path: Path, change: Any) -> None:
    with pytest.raises(DamagedRecord, match="it is not a record"):
        store_with(tmp_path, changed(change)).records()


@pytest.mark.parametrize(
    "content",
    [b" ", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b"NaN"],
)
def test_what_is_no_record_at_all_is_damaged(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DamagedRecord, match=r"x\.json"):
        store_with(tmp_path, content).records()


@pytest.mark.parametrize("kind", ["pipe", "directory", "endless device", "link to itself"])
def test_what_is_no_file_is_foreign_and_nobody_waits_for_it(tmp_path: Path, kind: str) -> None:
    store = store_with(tmp_path, b"")
    path = store.records_directory / "gae" / "x.json"
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "endless device":
            path.symlink_to("/dev/zero")
        case "link to itself":
            path.symlink_to(path)
    found: list[tuple[object, object]] = []

    def read() -> None:
        found.append((store.records(), store.foreign_files()))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout=60)
    assert found == [([], (path,))]


@pytest.mark.parametrize(
    "change",
    [
        put({"training_seconds": 5e-324, "wall_seconds": 1e15}, "measurement", "metrics"),
        put([0.0], "measurement", "metrics", "seconds"),
        put([5e-324, 1e15], "measurement", "metrics", "seconds"),
        put(0, "measurement", "metrics", "seconds"),
        put(2**53 - 1, "measurement", "counts", "elements"),
        put(1, "measurement", "memory", "vmhwm_bytes"),
        put({}, "machine"),
        put({}, "launch", "state"),
        put("|`<b>\x1b[31m\u202e{{ 7*7 }}" * 50, "machine", "cpu_model"),
        put("x" * 10_000, "execution", "emulator"),
        put({f"a{n}": "|" for n in range(500)}, "software"),
        put([{"check": "a|b", "passed": True, "detail": "`|\n", "share": 1.7e308}], "gate"),
        put({"kind": "deadline", "detail": "|\n# x\n" * 1000}, "failure"),
        put(2**53 - 1, "cell", "seed"),
        put("emulated", "execution", "kind"),
        put({}, "parameters"),
        put("0001-01-01T00:00:00+23:59", "created_at"),
    ],
)
def test_a_valid_record_however_odd_breaks_no_table_no_comparison_and_no_plan(change: Any) -> None:
    # One that others are compared with, one that is compared, and a training.
    for implementation in ("numpy", "rust", "pytorch"):
        text = next(text for text in corpus.records() if of(text) == (implementation, "amd64"))
        stored_record(changed(change, text))


def test_reading_a_record_takes_a_few_times_what_its_json_takes() -> None:
    # Every tenth record of each publication: a ratio needs no more.
    texts = [
        text for name in corpus.publications() for text in islice(corpus.published_texts(name), 0, None, 10)
    ]
    parse_record(texts[0])

    # The processor's time, and beside other work on the same bytes: so neither load nor the next publication counts.
    started = time.thread_time()
    for text in texts:
        parse_record(text)
    reading = time.thread_time() - started
    started = time.thread_time()
    for text in texts:
        json.dumps(json.loads(text), sort_keys=True)
    parsing = time.thread_time() - started

    assert len(texts) > 200
    # Four times; were the schema's library asked instead of the compiled functions, sixteen.
    assert reading < 8 * parsing, (
        f"{reading:.2f} s for {len(texts)} records, their JSON alone {parsing:.2f} s"
    )


def test_times_beyond_all_measure_give_no_ratio_and_break_nothing() -> None:
    """One odd record among five is lost in the median; five are not."""
    records = []
    for text in corpus.company():
        implementation, _ = of(text)
        seconds = {"numpy": [1e15], "rust": [5e-324]}.get(implementation)
        changes = put(seconds, "measurement", "metrics", "seconds") if seconds else lambda _: None
        # No reader gives such records out any more, and pages rely on none.
        records.append(record_of(json.loads(changed(changes, text))))
    matrix = load_matrix(corpus.ROOT / "matrix.yaml")
    page = render_benchmark(matrix, records, "gae", profile="quick")
    assert "inf" not in page
    with pytest.raises(NothingToCompare, match="too far apart"):
        compare(records, benchmark="gae", base="numpy", against="rust", metric="seconds")
