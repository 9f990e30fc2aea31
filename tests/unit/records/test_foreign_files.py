"""Other people's files in a results folder, and what may not be read there: each is told apart, and nothing is lost."""

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import small_matrix

from runner.cli.main import main
from runner.host.clean.results import find_results
from runner.host.probe import results_of
from runner.records.record import SCHEMA_VERSION, Record, record_of, seal
from runner.records.record_file import record_text
from runner.records.source import record_beginning
from runner.records.store import Store
from runner.system.errors import DamagedRecord, NewerRecord, StoreError
from runner.verify.read import read_records

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results/published/2026-11-21-quick"
CLEANED = "20261121T134445000000Z-180decf4daecae04.json"


@cache
def published() -> Record:
    return record_beginning(read_records(PUBLISHED), "20261121T134445Z-180decf4daecae04")


def a_record(**changes: object) -> Record:
    data = published().plain() | changes
    del data["content_sha256"]
    return record_of(seal(data))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "results")
    store.add(a_record())
    return store


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody else's, with files that bear the names of ours."""
    folder = tmp_path / "elsewhere" / "gae"
    folder.mkdir(parents=True)
    (folder / CLEANED).write_text(record_text(a_record()))
    (folder / "overview.md").write_text("mine")
    return folder.parent


def as_another_user(path: Path, check: Callable[[], None]) -> None:
    """Do ``check`` as a user to whom ``path`` is closed; root becomes nobody in a child."""
    if os.geteuid() != 0:
        check()
        return
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setegid(65534)
            os.seteuid(65534)
            check()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, path


@pytest.mark.parametrize("name", ["._X.json", ".DS_Store", "X.json~", "empty.json", "Thumbs.db"])
def test_a_file_of_another_program_stops_nothing(store: Store, name: str) -> None:
    (store.records_directory / "gae" / name).write_bytes(b"" if name == "empty.json" else b"\x00\x05\x16\x07")
    (store.records_directory / name).write_bytes(b"\x00")
    assert len(store.records()) == 1
    assert store.record_faults() == ()


def test_a_hidden_file_is_no_part_of_what_is_verified(store: Store) -> None:
    (store.records_directory / "gae" / "._X.json").write_bytes(b"\x00")
    assert len(read_records(store.root)) == 1


def test_a_foreign_file_is_named_and_stays(store: Store) -> None:
    foreign = store.records_directory / "gae" / "._X.json"
    foreign.write_bytes(b"\x00")
    assert store.foreign_files() == (foreign,)
    for item in find_results(store, records=True).items:
        item.remove()
    assert foreign.exists()


def test_a_record_of_a_later_version_is_no_damage(store: Store) -> None:
    path = store.records_directory / "gae" / "newer.json"
    path.write_text(json.dumps(seal({"schema": SCHEMA_VERSION + 1, "shape": "of tomorrow"})))
    for read in (store.records, lambda: read_records(path)):
        with pytest.raises(NewerRecord, match="update forge-bench") as caught:
            read()
        assert str(path) in str(caught.value)
        assert "delete" not in str(caught.value)
    assert store.damaged() == ()
    ((found, fault),) = store.record_faults()
    assert (found, type(fault)) == (path, NewerRecord)


def test_a_later_version_that_was_altered_is_damage(store: Store) -> None:
    path = store.records_directory / "gae" / "newer.json"
    path.write_text(json.dumps({"schema": SCHEMA_VERSION + 1, "content_sha256": "0" * 64}))
    with pytest.raises(DamagedRecord):
        store.records()


def public(path: Path) -> None:
    for each in (path, *path.parents):
        if each.stat().st_uid == os.getuid() and each.is_dir() and str(each).startswith("/tmp/pytest"):
            each.chmod(0o755)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_record_that_may_not_be_read_is_no_damage(store: Store, what: str) -> None:
    public(store.root)
    (path,) = store.record_files()
    (path if what == "file" else path.parent).chmod(0)

    def check() -> None:
        with pytest.raises(StoreError, match="cannot be read") as caught:
            store.records()
        assert not isinstance(caught.value, DamagedRecord)
        assert "Permission denied" in caught.value.why
        assert "delete" not in caught.value.fix
        assert store.damaged() == ()
        assert len(store.record_faults()) == 1

    as_another_user(path, check)
    path.parent.chmod(0o755)


def test_a_folder_of_root_within_the_results_is_found_before_a_launch(store: Store) -> None:
    public(store.root)
    for path in (store.root, store.records_directory):
        path.chmod(0o777)
    closed = store.records_directory / "gae"
    closed.chmod(0o555)

    def check() -> None:
        with pytest.raises(StoreError, match=f"{closed} cannot be written"):
            store.require_writable()
        problem = results_of(store).problem
        assert problem is not None
        assert str(closed) in problem.what

    as_another_user(closed, check)
    closed.chmod(0o755)


@pytest.mark.parametrize("which", ["records", "benchmark", "file", "tables"])
def test_clean_removes_nothing_behind_a_link(store: Store, elsewhere: Path, which: str) -> None:
    match which:
        case "records":
            store.records_directory.rename(store.root / "kept")
            store.records_directory.symlink_to(elsewhere)
        case "benchmark":
            (store.records_directory / "more").symlink_to(elsewhere / "gae")
        case "file":
            (store.records_directory / "gae" / CLEANED).symlink_to(elsewhere / "gae" / CLEANED)
        case "tables":
            store.tables_directory.symlink_to(elsewhere)
    for item in find_results(store, records=True).items:
        item.remove()
    assert sorted(path.name for path in (elsewhere / "gae").iterdir()) == [CLEANED, "overview.md"]


@pytest.mark.parametrize("which", ["records", "benchmark"])
def test_a_linked_folder_of_records_is_said_and_not_followed(
    store: Store, elsewhere: Path, which: str
) -> None:
    if which == "records":
        store.records_directory.rename(store.root / "kept")
        store.records_directory.symlink_to(elsewhere)
    else:
        (store.records_directory / "more").symlink_to(elsewhere / "gae")
    with pytest.raises(StoreError, match="is a link"):
        store.records()
    if which == "records":
        with pytest.raises(StoreError, match="is a link"):
            store.add(a_record(id="20270101T000000Z-180decf4daecae04"))
    assert len(list((elsewhere / "gae").iterdir())) == 2


@pytest.mark.parametrize("which", ["tables", "profile"])
def test_render_writes_nothing_behind_a_link(
    tmp_path: Path,
    store: Store,
    elsewhere: Path,
    write_matrix: Callable[[dict], Path],
    capsys: pytest.CaptureFixture[str],
    which: str,
) -> None:
    if which == "tables":
        store.tables_directory.symlink_to(elsewhere)
    else:
        store.tables_directory.mkdir()
        (store.tables_directory / "gae").symlink_to(elsewhere / "gae")
    matrix = small_matrix()
    for part in (matrix["profiles"], matrix["benchmarks"]["double"]["profiles"]):
        part["gae"] = part["smoke"]
    path = write_matrix(matrix)
    arguments = ["render", "--profile", "gae", "--matrix", str(path), "--results", str(store.root)]
    assert main(arguments) == StoreError.exit_code
    assert "is a link" in capsys.readouterr().err
    assert (elsewhere / "gae" / "overview.md").read_text() == "mine"


@pytest.mark.parametrize("command", ["render", "plan", "export"])
def test_a_results_folder_that_is_a_circle_of_links_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert main([command, "--results", str(loop)]) == 2
    assert "leads nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["render", "--results", ""],
        ["render", "--output", ""],
        ["plan", "--matrix", ""],
        ["export", "--output", ""],
        ["verify", ""],
        ["show", ""],
    ],
)
def test_an_empty_path_names_nothing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "an empty text names no file" in capsys.readouterr().err
