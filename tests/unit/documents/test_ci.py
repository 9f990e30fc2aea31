"""What CI runs: every part once, its time printed, and a failure of one is a failure of the whole."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
PARTS = ("setup", "images", "lint", "unit", "rust", "integration")
# It notes what it was asked for. Images are built by another process, which can take long.
MAKE = """#!/bin/sh
echo "$1" >>calls
case "$1" in
  images) sh -c 'echo $$ >builder; exec sleep "${HOLD:-0}"' & wait; echo "building images" ;;
  lint | unit | rust) while [ ! -s builder ]; do sleep 0.05; done ;;
esac
[ "$1" != "$FAILS" ]
"""


@pytest.fixture
def ci(tmp_path: Path):
    """``.ci/run`` beside a make of our own, in which one target may fail."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tmp_path / "bin" / "make").chmod(0o755)

    def run(fails: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [tmp_path / ".ci" / "run"],
            env={
                **os.environ,
                "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
                "FAILS": fails,
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def calls(directory: Path) -> list[str]:
    return (directory / "calls").read_text().split()


def test_every_part_of_make_test_runs_once_and_its_time_is_printed(ci, tmp_path):
    done = ci()
    assert done.returncode == 0, done.stderr
    assert sorted(calls(tmp_path)) == sorted([".venv/.ready", *PARTS])
    assert calls(tmp_path)[-1] == "integration"
    for part in (*PARTS, "in all"):
        assert f"\n{part:<12}   0 min 0" in done.stdout
    assert "FAILED" not in done.stdout
    assert "WARNING" not in done.stdout
    tested = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("test:"))
    assert set(tested.partition("#")[0].split()[1:]) <= set(PARTS), "CI runs all of make test"


@pytest.mark.parametrize("part", ["lint", "unit", "rust"])
def test_a_part_that_fails_ends_the_whole_and_its_images(ci, tmp_path, part):
    done = ci(part, HOLD="600")
    assert done.returncode != 0
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(part)]
    assert row.endswith("FAILED")
    assert "integration" not in calls(tmp_path)
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int((tmp_path / "builder").read_text())).wait(timeout=30)


def test_images_that_cannot_be_built_are_a_failure_with_their_log(ci, tmp_path):
    done = ci("images")
    assert done.returncode == 1
    assert "building images" in done.stdout
    assert "integration" not in calls(tmp_path)


def test_integration_that_fails_fails_the_whole(ci):
    assert ci("integration").returncode != 0


def test_more_than_45_minutes_are_a_warning_in_large_letters(ci):
    assert "WARNING: CI TOOK MORE THAN 45 MINUTES" in ci(SECONDS="2701").stdout
