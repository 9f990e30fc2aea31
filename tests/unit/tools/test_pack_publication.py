"""Packing loses nothing, says the same whenever and wherever it is done, and can be called again at any point."""

import csv
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from example_records import MACHINE, gae_records, make_record
from msgspec import structs

from runner.records.publication import FACTS, RECORDS, Publication
from runner.records.store import Store
from runner.system.errors import DamagedRecord, StoreError, UsageError
from tools import pack_publication
from tools.pack_publication import main, pack

NAME = "2026-01-01-example"
FILES = {FACTS, RECORDS, "README.md", "summary.csv"}


@pytest.fixture
def folder(tmp_path) -> Path:
    found = tmp_path / "published" / NAME
    for record in gae_records():
        Store(found).add(record)
    (found / "tables" / "quick").mkdir(parents=True)
    (found / "tables" / "quick" / "gae.md").write_text("# gae\n")
    (found / "tables" / "quick" / ".stamp.json").write_text("{}")
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_packed_folder_holds_four_files_and_its_pages(folder):
    before = Store(folder).records()
    pack(folder)
    assert set(files(folder)) == FILES | {"tables/quick/gae.md"}
    assert Publication.at(folder).records() == before


def test_packing_again_changes_nothing(folder):
    pack(folder)
    before = files(folder)
    pack(folder)
    assert files(folder) == before


def test_two_copies_become_the_same_bytes(folder, tmp_path):
    copy = tmp_path / "elsewhere" / NAME
    shutil.copytree(folder, copy)
    pack(folder)
    pack(copy)
    assert files(folder) == files(copy)


def test_a_stream_from_another_library_is_kept_as_it_is(folder):
    pack(folder)
    other = gzip.compress(gzip.decompress((folder / RECORDS).read_bytes()), compresslevel=1, mtime=7)
    (folder / RECORDS).write_bytes(other)
    pack(folder)
    assert (folder / RECORDS).read_bytes() == other


@pytest.mark.parametrize("step", range(1, 9))
def test_a_call_that_is_stopped_anywhere_loses_nothing_and_is_finished_by_the_next(
    folder, tmp_path, monkeypatch, step
):
    shutil.copytree(folder, tmp_path / "copy" / NAME)
    pack(tmp_path / "copy" / NAME)
    whole = files(tmp_path / "copy" / NAME)
    left = step

    def stopping(function):
        def stopped(*arguments, **named):
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return function(*arguments, **named)

        return stopped

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stopping(Path.replace))
        patched.setattr(Path, "rename", stopping(Path.rename))
        patched.setattr(Path, "unlink", stopping(Path.unlink))
        patched.setattr(shutil, "rmtree", stopping(shutil.rmtree))
        if step < 8:
            with pytest.raises(KeyboardInterrupt):
                pack(folder)
        else:
            pack(folder)
            assert left == 1, "no step is left out"
    pack(folder)
    assert files(folder) == whole


def test_an_altered_record_stops_the_packing_before_anything_is_written(folder):
    path = sorted(folder.glob("records/gae/*.json"))[3]
    path.write_text(path.read_text().replace("Example CPU 9000", "Example CPU 9001"))
    before = files(folder)
    with pytest.raises(DamagedRecord):
        pack(folder)
    assert files(folder) == before


def test_other_files_stop_the_packing_because_they_would_be_lost(folder):
    (folder / "records" / "gae" / "notes.txt").write_text("mine")
    before = files(folder)
    with pytest.raises(StoreError) as refused:
        pack(folder)
    assert "records/gae/notes.txt" in refused.value.why
    assert files(folder) == before


def test_records_that_are_added_to_a_packed_folder_are_refused(folder):
    pack(folder)
    Store(folder).add(make_record(seed=40, minute=40))
    before = files(folder)
    with pytest.raises(StoreError) as refused:
        pack(folder)
    assert "another" in refused.value.what
    assert files(folder) == before


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(UsageError):
        pack(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_summary_has_a_row_a_cell_with_its_newest_record(tmp_path):
    first = make_record(minute=1, failure=("deadline", "60 s passed"))
    second = structs.replace(make_record(minute=2, metrics={"seconds": [0.001, 0.003, 0.002]}), key=first.key)
    [row] = csv.DictReader(
        pack_publication.summary_of(
            [
                first,
                second,
            ]
        )
        .decode()
        .splitlines()
    )
    assert row == {
        **{name: str(value) for name, value in second.cell.plain().items()},
        "profile": "quick",
        "execution": "native",
        "metric": "seconds",
        "median": "0.002",
        "unit": "s",
        "peak_bytes": str(50 * 2**20),
        "failure": "",
        "records": "2",
        "record": second.identifier,
    }


def test_a_failed_cell_has_a_row_too(folder):
    pack(folder)
    rows = list(csv.DictReader((folder / "summary.csv").read_text().splitlines()))
    assert len(rows) == len(gae_records())
    failed = [row for row in rows if row["failure"]]
    assert {(row["case"], row["implementation"], row["failure"]) for row in failed} == {
        ("T=2048", "rlox", "wrong-output"),
        ("T=2048", "torchforge", "deadline"),
    }
    assert all(row["median"] == "" for row in failed)


def test_the_facts_count_machines_and_images(folder):
    pack(folder)
    facts = json.loads((folder / FACTS).read_text())
    assert facts["machines"] == [{"records": 46, "facts": MACHINE}]
    assert sorted(
        (each["facts"]["target"], each["facts"]["architecture"], each["records"]) for each in facts["images"]
    ) == [
        ("core", "amd64", 30),
        ("core", "arm64", 6),
        ("peers", "amd64", 10),
    ]
    assert any("amd64: " in text and "virtual" in text for text in facts["warnings"])
    assert (facts["commit"], facts["matrix_sha256"], facts["known_faults"]) == (None, None, [])


@pytest.fixture
def history(tmp_path, monkeypatch) -> str:
    """A checkout with one commit, whose hash this is."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "matrix.yaml").write_text("version: 1\n")

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True
        ).stdout

    git("init", "--quiet")
    git("add", "matrix.yaml")
    git("commit", "--quiet", "-m", "first")
    monkeypatch.setattr(pack_publication, "ROOT", root)
    return git("rev-parse", "HEAD").strip()


def row_of(folder: Path, machine: str) -> None:
    (folder.parent / "README.md").write_text(
        f"| folder | machine, commit | what |\n|---|---|---|\n"
        f"| [{NAME}]({NAME}/tables/quick/gae.md) | {machine} | all of [gae]({NAME}/tables/quick/gae.md), as"
        f" [before](2025-01-01-other/tables/quick/gae.md) |\n"
    )


def test_the_commit_is_the_one_that_the_row_names_and_the_matrix_is_hashed_there(folder, history):
    row_of(folder, f"AMD A, {history[:7]}")
    pack(folder)
    facts = json.loads((folder / FACTS).read_text())
    assert facts["commit"] == history
    assert facts["matrix_sha256"] == hashlib.sha256(b"version: 1\n").hexdigest()


def test_a_commit_that_the_history_lacks_is_an_error(folder, history):
    row_of(folder, "AMD A, 0123abc")
    with pytest.raises(UsageError) as refused:
        pack(folder)
    assert "history" in refused.value.what
    assert (folder / "records").is_dir()


def test_every_link_of_the_page_leads_somewhere(folder, history):
    row_of(folder, f"AMD A, {history[:7]}")
    other = folder.parent / "2025-01-01-other" / "tables" / "quick" / "gae.md"
    other.parent.mkdir(parents=True)
    other.write_text("# gae\n")
    pack(folder)
    page = (folder / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) >= 4
    assert [link for link in links if not (folder / link).is_file()] == []
    assert "| machine | AMD A |" in page
    assert history in page


def test_a_known_fault_is_told_by_the_page_and_the_facts_and_can_be_added_later(
    folder, tmp_path, monkeypatch
):
    pack(folder)
    stream = (folder / RECORDS).read_bytes()
    faults = tmp_path / "known_faults.yaml"
    faults.write_text(f"{NAME}:\n  - Two launches\n    failed.\n")
    monkeypatch.setattr(pack_publication, "KNOWN_FAULTS", faults)
    pack(folder)
    assert Publication.at(folder).facts["known_faults"] == ["Two launches failed."]
    assert "## Known faults\n\n- Two launches failed.\n" in (folder / "README.md").read_text()
    assert (folder / RECORDS).read_bytes() == stream


def test_one_call_packs_every_folder_that_it_names(tmp_path, capsys):
    folders = [tmp_path / f"p{number}" for number in range(3)]
    for number, each in enumerate(folders):
        Store(each).add(make_record(seed=number, minute=number))
    assert main([str(each) for each in folders[:2]]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["p0", "p1"]
    assert [(each / FACTS).is_file() for each in folders] == [True, True, False]
    assert [(each / "records").is_dir() for each in folders] == [False, False, True]


def test_a_fault_is_told_in_three_lines(tmp_path, capsys):
    assert main([str(tmp_path)]) == UsageError.exit_code
    assert "to do: " in capsys.readouterr().err
