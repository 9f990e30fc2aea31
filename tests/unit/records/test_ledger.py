"""A ledger grows by whole lines that hold each other's hashes, and says what was done to it."""

import hashlib
import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.records.ledger.chain import Chain, chain_of, hash_of, text_of
from runner.records.ledger.file import append, read_ledger
from runner.records.ledger.lines import FIRST, CutLine, EndLine, RemovedLine
from runner.system.errors import DamagedLedger, StoreError


def add(path: Path, count: int = 1) -> None:
    for number in range(count):
        append(path, lambda previous, time, n=number: RemovedLine(previous=previous, time=time, records=n))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "results" / "ledger.jsonl"
    add(path, 3)
    return path


def test_each_line_holds_the_hash_of_the_line_before_it(ledger):
    texts = ledger.read_bytes().splitlines()
    found = [json.loads(text)["previous"] for text in texts]
    assert found == [FIRST, *(hashlib.sha256(text).hexdigest() for text in texts[:-1])]
    assert [line.records for line in read_ledger(ledger).lines] == [0, 1, 2]


def test_a_store_without_a_ledger_has_one_without_lines(tmp_path):
    assert read_ledger(tmp_path / "ledger.jsonl") == Chain(lines=())


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], lines[1].replace(b'"records":1', b'"records":7'), lines[2]],
        lambda lines: [lines[0], lines[2]],
        lambda lines: lines[1:],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [*lines[:2], lines[1], lines[2]],
        lambda lines: [lines[0].replace(b",", b", ", 1), *lines[1:]],
        lambda lines: [lines[0], b"", *lines[1:]],
        lambda lines: [lines[0], b"[" * 10_000, *lines[1:]],
    ],
    ids=["altered", "left out", "first left out", "moved", "doubled", "rewritten", "empty", "nested"],
)
def test_a_chain_that_somebody_changed_is_damaged_and_the_error_names_the_line(ledger, change):
    ledger.write_bytes(b"\n".join(change(ledger.read_bytes().splitlines())) + b"\n")
    with pytest.raises(DamagedLedger) as refused:
        read_ledger(ledger)
    assert "line " in refused.value.why


@given(where=st.integers(0, 10**6), bit=st.integers(0, 7))
@examples(50)
def test_no_bit_of_a_ledger_can_be_changed_but_in_its_last_line(where, bit):
    lines = []
    for number in range(3):
        previous = hash_of(text_of(lines[-1])) if lines else FIRST
        lines.append(RemovedLine(previous=previous, time="2026-01-01T00:00:00+00:00", records=number))
    whole = bytearray(b"".join(text_of(line) + b"\n" for line in lines))
    changeable = len(whole) - len(text_of(lines[-1])) - 1
    whole[where % changeable] ^= 1 << bit
    with pytest.raises(ValueError, match="line "):
        chain_of(bytes(whole))


def test_the_beginning_of_a_line_is_put_aside_and_said_and_the_chain_goes_on(ledger):
    half = b'{"kind":"launch","prev'
    ledger.write_bytes(ledger.read_bytes() + half)
    assert read_ledger(ledger).fragment == half
    said: list[str] = []
    append(
        ledger, lambda previous, time: RemovedLine(previous=previous, time=time, records=9), say=said.append
    )
    *before, cut, last = read_ledger(ledger).lines
    assert isinstance(cut, CutLine)
    assert (len(before), cut.bytes, last.records) == (3, len(half), 9)
    assert (ledger.parent / cut.kept_as).read_bytes() == half
    assert len(said) == 1
    assert "cut off" in said[0]


def test_a_fragment_alone_is_put_aside_too(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"kind"')
    add(path)
    assert [type(line) for line in read_ledger(path).lines] == [CutLine, RemovedLine]


def test_nothing_is_appended_to_a_file_that_is_no_ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text("my notes\n")
    with pytest.raises(DamagedLedger):
        add(path)
    assert path.read_text() == "my notes\n"


def test_lines_longer_than_a_block_are_found_from_behind(tmp_path):
    path = tmp_path / "ledger.jsonl"
    why = "x" * 1000
    for _ in range(200):
        append(
            path,
            lambda previous, time: EndLine(
                previous=previous, time=time, plan="p", outcome="done", why=why, opening="0" * 64
            ),
        )
    assert len(read_ledger(path).lines) == 200


def test_runners_that_share_a_store_write_one_chain(tmp_path):
    path = tmp_path / "ledger.jsonl"
    start = multiprocessing.get_context("spawn")
    processes = [start.Process(target=add, args=(path, 25)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(read_ledger(path).lines) == 75


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "ledger.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        add(tmp_path / "ledger.jsonl")
    assert not (tmp_path / "elsewhere").exists()
