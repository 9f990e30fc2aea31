"""What NAME, PATH and NAME#PREFIX mean."""

import pytest
from example_records import make_record
from msgspec import structs

from runner.records.source import address_of, named_path, record_beginning
from runner.system.errors import UsageError

RECORDS = [make_record(seed=seed, minute=seed) for seed in (1, 2, 11)]


def test_a_name_is_that_of_a_publication_unless_there_is_such_a_path(tmp_path, monkeypatch):
    published = tmp_path / "published"
    (published / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert named_path("one", published) == published / "one"
    (tmp_path / "one").mkdir()
    assert str(named_path("one", published)) == "one"


@pytest.mark.parametrize("text", ["", ".", "..", "../published/one", "missing", "x" * 300, "a\0b"])
def test_what_is_no_name_of_a_publication_is_a_path(tmp_path, monkeypatch, text):
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path.parent)
    assert named_path(text, tmp_path) == named_path(text, tmp_path / "nowhere")


def test_the_prefix_is_what_stands_behind_the_last_mark(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path)
    found = address_of("one#2026", tmp_path)
    assert (str(found.path), found.prefix) == ("one", "2026")
    assert address_of("one", tmp_path).prefix is None
    assert address_of("one#", tmp_path).prefix == ""
    assert str(address_of("a#b#c", tmp_path).path) == "a#b"


def test_a_file_whose_name_has_the_mark_is_that_file(tmp_path, monkeypatch):
    (tmp_path / "one#2").mkdir()
    monkeypatch.chdir(tmp_path)
    found = address_of("one#2", tmp_path)
    assert (str(found.path), found.prefix) == ("one#2", None)


def test_a_record_is_found_by_the_start_of_its_identifier_or_its_hash():
    for record in RECORDS:
        assert record_beginning(RECORDS, record.identifier) is record
        assert record_beginning(RECORDS, record.identifier[:15]) is record
        assert record_beginning(RECORDS, str(record.content_sha256)[:12]) is record


def test_a_whole_identifier_that_begins_another_one_is_itself():
    made = make_record(seed=1, minute=1)
    longer = structs.replace(made, identifier=f"{made.identifier}0")
    assert record_beginning([RECORDS[0], longer], RECORDS[0].identifier) is RECORDS[0]


@pytest.mark.parametrize(
    ("prefix", "what"),
    [
        ("2026", '3 records begin with "2026"'),
        ("zzz", 'no record begins with "zzz"'),
        ("", "no record is named"),
    ],
)
def test_what_names_no_record_or_several_is_an_error_that_says_so(prefix, what):
    with pytest.raises(UsageError) as refused:
        record_beginning(RECORDS, prefix)
    assert refused.value.what == what


def test_an_ambiguous_prefix_names_the_records_that_begin_so():
    with pytest.raises(UsageError) as refused:
        record_beginning(RECORDS, "20260101T000")
    assert RECORDS[0].identifier in refused.value.why
    assert RECORDS[2].identifier not in refused.value.why
