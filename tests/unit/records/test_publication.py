"""A publication gives back exactly the records that it was made of, or says what was done to it."""

import gzip
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_records import dqn_records, example_matrix, gae_records, make_record
from msgspec import structs

from runner.cli.main import main
from runner.records import publication
from runner.records.publication import FACTS, RECORDS, Publication, is_publication, stream_of
from runner.records.record import Record, record_of, seal
from runner.records.source import store_at
from runner.records.store import Store
from runner.report.export.table import table_of_records, table_of_repetitions
from runner.report.export.write import as_csv
from runner.report.tables.pages import render_pages
from runner.system.errors import DamagedRecord, StoreError
from runner.verify.read import read_records
from tools.pack_publication import pack

Change = Callable[[list[bytes]], list[bytes]]


def some_records() -> list[Record]:
    return [make_record(seed=seed, minute=seed) for seed in (1, 2, 3)]


def published(folder: Path, records: list[Record]) -> Publication:
    for record in records:
        Store(folder).add(record)
    pack(folder)
    return Publication.at(folder)


def rewritten(found: Publication, change: Change, **facts: Any) -> Publication:
    """The publication with other lines, and facts that are right about them, as a forger would write it."""
    lines = gzip.decompress((found.root / RECORDS).read_bytes()).splitlines(keepends=True)
    stream = b"".join(change(lines))
    (found.root / RECORDS).write_bytes(gzip.compress(stream))
    stated = {"bytes": len(stream), "sha256": hashlib.sha256(stream).hexdigest()}
    content = json.dumps({**found.facts, "stream": stated, **facts})
    (found.root / FACTS).write_text(content, encoding="utf-8")
    return Publication.at(found.root)


def test_the_records_of_a_publication_are_those_of_the_store_that_it_was_made_of(tmp_path):
    records = gae_records()
    store = Store(tmp_path / "store")
    for record in records:
        store.add(record)
    light = published(tmp_path / "light", records)
    assert light.records() == store.records()
    assert light.facts["counts"] == {"records": 46, "cells": 46, "failed": 6}


def test_pages_and_tables_are_the_same_of_either_form(tmp_path):
    records = [*gae_records(), *dqn_records()]
    records += [make_record(seed=7, minute=minute, image=f"image {minute}") for minute in range(2, 8)]
    store = Store(tmp_path / "store")
    for record in records:
        store.add(record)
    light = published(tmp_path / "light", records)
    matrix = example_matrix(tmp_path)
    one, another = store.records(), light.records()
    assert render_pages(matrix, one, profile="quick") == render_pages(matrix, another, profile="quick")
    assert as_csv(table_of_records(one)) == as_csv(table_of_records(another))
    assert as_csv(table_of_repetitions(one)) == as_csv(table_of_repetitions(another))


def test_the_stream_does_not_depend_on_the_order_of_the_records():
    records = gae_records()
    mixed = random.Random(3).sample(records, len(records))  # noqa: S311 (an order, not a secret)
    assert stream_of(mixed) == stream_of(records)


def test_each_line_is_the_text_that_the_seal_is_a_hash_of(tmp_path):
    light = published(tmp_path, some_records())
    for line in gzip.decompress((light.root / RECORDS).read_bytes()).splitlines():
        value = json.loads(line)
        digest = value.pop("content_sha256")
        without = line.replace(b'"content_sha256":"%s",' % digest.encode(), b"")
        assert hashlib.sha256(without).hexdigest() == digest


def test_a_stream_that_another_library_compressed_is_read_the_same(tmp_path):
    light = published(tmp_path, some_records())
    before = light.records()
    path = tmp_path / RECORDS
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1, mtime=12345))
    assert light.records() == before


CHANGES: dict[str, tuple[Change, str]] = {
    "a record less": (lambda lines: lines[:-1], "counts"),
    "a record twice": (lambda lines: [*lines, lines[-1]], "not in its place, or is there twice"),
    "another order": (lambda lines: lines[::-1], "not in its place"),
    "another figure": (
        lambda lines: [lines[0].replace(b"0.001", b"0.002"), *lines[1:]],
        "line 1: its content",
    ),
    "no record": (lambda lines: [*lines, b"{}\n"], "line 4: it is not a record"),
    "no JSON": (lambda lines: [*lines, b"x\n"], "line 4"),
    "an empty line": (lambda lines: [lines[0], b"\n", *lines[1:]], "line 2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_stream_whose_hash_a_forger_made_anew_is_refused(tmp_path, name):
    change, why = CHANGES[name]
    with pytest.raises(DamagedRecord) as refused:
        rewritten(published(tmp_path, some_records()), change).records()
    assert why in refused.value.why


def test_a_failure_cannot_be_counted_away(tmp_path):
    failed = make_record(seed=4, minute=4, failure=("deadline", "60 s passed"))
    light = published(tmp_path, [*some_records(), failed])
    assert light.facts["counts"]["failed"] == 1
    changed = rewritten(light, lambda lines: lines, counts={**light.facts["counts"], "failed": 0})
    with pytest.raises(DamagedRecord, match="damaged publication"):
        changed.records()


def test_a_case_of_a_launch_cannot_be_left_out(tmp_path):
    records = [make_record(case=case, minute=3) for case in ("T=128", "T=2048")]
    launch = structs.replace(records[0].launch, cases=("T=128", "T=2048"))
    whole = [structs.replace(record, launch=launch) for record in records]
    publication.require_whole_launches(whole)
    with pytest.raises(ValueError, match=r"launch gae-numpy-amd64-s1-[0-9a-f]{8} leave out T=2048"):
        publication.require_whole_launches(whole[:1])


def test_a_stream_that_is_not_the_stated_one_is_refused(tmp_path):
    light = published(tmp_path, some_records())
    other = published(tmp_path / "other", [make_record(seed=4)])
    (tmp_path / RECORDS).write_bytes((other.root / RECORDS).read_bytes())
    with pytest.raises(DamagedRecord) as refused:
        light.records()
    assert "SHA-256" in refused.value.why


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08\x00"])
def test_what_is_no_gzip_is_a_damaged_publication(tmp_path, content):
    light = published(tmp_path, some_records())
    (tmp_path / RECORDS).write_bytes(content)
    with pytest.raises(DamagedRecord):
        light.records()


@pytest.mark.parametrize("length", [10, -20, -1])
def test_a_stream_that_was_cut_off_is_a_damaged_publication(tmp_path, length):
    light = published(tmp_path, some_records())
    content = (tmp_path / RECORDS).read_bytes()
    (tmp_path / RECORDS).write_bytes(content[:length])
    with pytest.raises(DamagedRecord):
        light.records()


def test_a_stream_that_unpacks_to_more_than_is_stated_is_refused_at_once(tmp_path):
    light = published(tmp_path, some_records())
    bomb = gzip.compress(b'{"a":1}\n' * 2**22)
    (tmp_path / RECORDS).write_bytes(bomb)
    with pytest.raises(DamagedRecord) as refused:
        light.records()
    assert "line 1: it is not a record" in refused.value.why
    (tmp_path / RECORDS).write_bytes(gzip.compress(b" " * 2**24))
    with pytest.raises(DamagedRecord) as refused:
        light.records()
    assert "longer than the" in refused.value.why


def test_a_line_beyond_the_bound_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(publication, "_LONGEST_LINE", 100)
    with pytest.raises(DamagedRecord) as refused:
        published(tmp_path, some_records()).records()
    assert "longer than 100 bytes" in refused.value.why


@pytest.mark.parametrize("name", [FACTS, RECORDS])
def test_a_publication_without_one_of_its_files_is_damaged_and_no_empty_store(tmp_path, name, capsys):
    published(tmp_path, some_records())
    (tmp_path / name).unlink()
    assert is_publication(tmp_path)
    assert main(["export", "--results", str(tmp_path)]) == DamagedRecord.exit_code
    assert "damaged publication" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"stream": {"bytes": 2**40, "sha256": "0" * 64}},
        {"commit": "HEAD"},
        {"more": 1},
        {"counts": {"records": True, "cells": 1, "failed": 0}},
    ],
)
def test_facts_of_another_form_are_refused(tmp_path, change):
    facts = published(tmp_path, some_records()).facts
    (tmp_path / FACTS).write_text(json.dumps({**facts, **change}), encoding="utf-8")
    with pytest.raises(DamagedRecord):
        Publication.at(tmp_path)


def test_a_record_that_was_sealed_anew_is_not_the_one_of_the_publication(tmp_path):
    light = published(tmp_path, some_records())

    def forged(lines: list[bytes]) -> list[bytes]:
        value = json.loads(lines[0])
        del value["content_sha256"]
        value["measurement"]["metrics"]["seconds"] = [1e-9]
        return [stream_of([record_of(seal(value))]), *lines[1:]]

    facts = (tmp_path / FACTS).read_bytes()
    rewritten(light, forged)
    (tmp_path / FACTS).write_bytes(facts)
    with pytest.raises(DamagedRecord):
        light.records()


def test_nothing_is_written_to_a_publication(tmp_path, capsys):
    published(tmp_path, some_records())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words in (
        ["plan", "--executor", "local"],
        ["run", "--executor", "local", "--only", "gae"],
        ["clean", "results", "--records", "--yes"],
        ["render", "--output", str(tmp_path)],
    ):
        assert main([*words, "--results", str(tmp_path)]) == StoreError.exit_code, words
        said = capsys.readouterr().err
        assert "is a publication" in said
        assert "frozen" in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with pytest.raises(StoreError):
        store_at(tmp_path)


def test_a_folder_of_publications_of_both_forms_is_read_as_one(tmp_path):
    published(tmp_path / "one", some_records())
    old = make_record(seed=9, minute=9)
    Store(tmp_path / "two").add(old)
    found = read_records(tmp_path)
    assert [record.seed for record in found] == [1, 2, 3, 9]
    assert read_records(tmp_path / "one" / RECORDS) == read_records(tmp_path / "one" / FACTS) == found[:3]
    (tmp_path / "one" / RECORDS).write_bytes(b"")
    with pytest.raises(DamagedRecord, match="1 damaged record"):
        read_records(tmp_path)
