import os
import subprocess
import sys
from pathlib import Path

import pytest
from example_records import MATRIX, dqn_records, example_matrix, gae_records

from runner.matrix import Matrix
from runner.report import write
from runner.report.write import write_tables


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("matrix"))


def modified(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}


def test_every_page_becomes_a_file(matrix: Matrix, tmp_path: Path) -> None:
    paths = write_tables(matrix, gae_records(), tmp_path / "tables", profile="quick")
    assert [path.name for path in paths] == [
        *("overview.md", "summary.md", "gae.md", "gae.svg", "methodology.md", "report.html")
    ]
    assert all(
        path.read_text(encoding="utf-8").startswith(("# ", "<svg", "<!doctype html>")) for path in paths
    )


def test_nothing_is_written_again_when_nothing_changed(matrix: Matrix, tmp_path: Path) -> None:
    records = gae_records() + dqn_records()
    first = write_tables(matrix, records, tmp_path, profile="quick")
    before = modified(tmp_path)
    assert write_tables(matrix, records[::-1], tmp_path, profile="quick") == first
    assert modified(tmp_path) == before


ANOTHER_PROCESS = """
import sys
from pathlib import Path
from runner.matrix import load_matrix
from runner.report.write import write_tables
write_tables(load_matrix(Path(sys.argv[1])), [], Path(sys.argv[2]), profile="quick")
"""


def test_another_process_writes_nothing_again_either(tmp_path: Path) -> None:
    without = "emulated_without: [rlox, torchforge, rust, T=2048]"
    example_matrix(tmp_path, MATRIX.replace("quick: {native: {rep", f"quick: {{{without}, native: {{rep"))
    tables, found = tmp_path / "tables", []
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", ANOTHER_PROCESS, tmp_path / "matrix.yaml", tables],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        found.append(modified(tables))
    assert found[0] == found[1]


def test_any_code_of_the_runner_writes_again(
    matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "runner"
    (code / "anywhere").mkdir(parents=True)
    (code / "anywhere" / "new.py").write_text("NEW = 1\n", encoding="utf-8")
    monkeypatch.setattr(write, "_RUNNER", code)
    write_tables(matrix, [], tmp_path / "tables", profile="quick")
    before = modified(tmp_path / "tables")
    (code / "anywhere" / "new.py").write_text("NEW = 2\n", encoding="utf-8")
    write_tables(matrix, [], tmp_path / "tables", profile="quick")
    assert modified(tmp_path / "tables") != before


@pytest.mark.parametrize(
    "change", ["record", "profile", "page edited", "page deleted", "stamp damaged", "template"]
)
def test_any_change_writes_again(
    matrix: Matrix, tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, profile, tables = gae_records(), "quick", tmp_path / "tables"
    write_tables(matrix, records, tables, profile=profile)
    before = modified(tables)
    whole = (tables / "gae.md").read_text(encoding="utf-8")
    match change:
        case "record":
            records = records[1:]
        case "profile":
            profile = "smoke"
        case "page edited":
            (tables / "gae.md").write_text("mine", encoding="utf-8")
        case "page deleted":
            (tables / "gae.md").unlink()
        case "stamp damaged":
            (tables / write.STAMP).write_text('{"content": 1, "pages": []}', encoding="utf-8")
        case "template":
            monkeypatch.setattr(write, "TEMPLATES", tmp_path)
    write_tables(matrix, records, tables, profile=profile)
    assert modified(tables) != before
    if change.startswith(("page", "stamp")):
        assert (tables / "gae.md").read_text(encoding="utf-8") == whole


def test_pages_that_no_longer_exist_are_removed_and_other_files_are_not(
    matrix: Matrix, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    write_tables(matrix, [], tables, profile="quick")
    (tables / "notes.md").write_text("mine", encoding="utf-8")
    only_gae = example_matrix(tmp_path, MATRIX[: MATRIX.index("  dqn:")])
    write_tables(only_gae, [], tables, profile="quick")
    found = {path.name for path in tables.iterdir()}
    assert found == {*("overview.md", "gae.md", "methodology.md", "report.html"), "notes.md", write.STAMP}


def test_a_stamp_cannot_name_files_elsewhere(matrix: Matrix, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / write.STAMP).write_text('{"content": "x", "pages": {"../victim": "y"}}', encoding="utf-8")
    write_tables(matrix, [], tables, profile="quick")
    assert victim.exists()
