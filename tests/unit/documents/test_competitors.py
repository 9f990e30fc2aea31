"""The competitors that docs/protocol.md shows are whole: the referee leads each of them, and it passes the gate."""

import contextlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from documents.markdown import ROOT, Document
from runner.cli.main import main
from runner.records.record import Record
from runner.records.store import Store

FOLDER = "examples/competitors"
PAGE = Document(ROOT / "docs" / "protocol.md")
# Beyond this a page no longer holds a program.
MOST_LINES = 85


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Record]:
    """What became of all of them, compiled as the page says, in a folder that stands for the repository."""
    here = tmp_path_factory.mktemp("competitors")
    shutil.copytree(ROOT / FOLDER, here / FOLDER, ignore=shutil.ignore_patterns("scramble"))
    [compilation] = re.findall(r"^ +(g\+\+ .+)$", PAGE.text, re.MULTILINE)
    if shutil.which("g++") is not None:
        subprocess.run(shlex.split(compilation), cwd=here, check=True)
    with contextlib.chdir(here):
        words = ["--matrix", f"{FOLDER}/matrix.yaml", "--results", "results", "--executor", "local"]
        main([*words, "--profile", "smoke"])
    return {(each.implementation, each.case): each for each in Store(here / "results").records()}


# The Rust one has a test of its own, which cargo compiles it for.
@pytest.mark.parametrize("name", ["helper", "python", "cpp", "shell"])
def test_a_competitor_passes_under_the_referee(records: dict[tuple[str, str], Record], name: str) -> None:
    if name == "cpp" and shutil.which("g++") is None:
        pytest.skip("needs g++")
    for case in ("n=32", "n=128"):
        record = records[name, case]
        assert record.failure is None, record.failure
        assert record.referee
        assert record.referee.windows[-1].repetitions >= 5


def test_the_page_names_every_competitor_and_counts_its_lines() -> None:
    [rows] = [rows for rows in PAGE.tables() if rows[0][-1] == "lines"]
    written = {re.sub(r"[`\[\]]|\(.+\)", "", file): int(lines) for _, file, *_, lines in rows[2:]}
    programs = [*(ROOT / FOLDER).glob("scramble*.*"), *ROOT.glob("rust/crates/*/examples/scramble.rs")]
    assert written == {str(path.relative_to(ROOT)): lines_of(path) for path in programs}
    assert max(written.values()) <= MOST_LINES


def lines_of(path: Path) -> int:
    """Its lines, without blank ones and comments."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return sum(not re.match(r"$|//|#[ !]", line) for line in lines)
