"""A change says how many cells it voids: those whose content key is another one."""

import shutil
from pathlib import Path

import pytest

from tools.voided_cells import ROOT, keys_of, report

_NEEDED = ("runner", "baselines", "rust", "docker", "templates")
_BUILT = ("target", "__pycache__", ".*_cache", ".venv")


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of this checkout that a test may change: what images are made of, and the files beside it."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in _NEEDED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns(*_BUILT), symlinks=True)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, path
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_changed_gate_voids_the_cells_of_its_benchmark_and_no_others(copy):
    before = keys_of(ROOT)
    assert keys_of(copy) == before, "a place is no part of a key"
    replace(copy / "matrix.yaml", "baselines.inputs, gae]", "baselines.inputs, gae, --other]")
    (copy / "runner" / "cli" / "main.py").write_text("# The runner is no part of a key.\n", encoding="utf-8")
    lines = report(before, keys_of(copy)).splitlines()
    voided = sum(" gae " in f" {name} " for name in (key.split()[1] for key in before))
    assert lines[0] == f"{voided} of {len(before)} cells run again; 0 are new, 0 are gone"
    assert {line.split()[1] for line in lines[1:]} == {"gae:"}


def test_what_an_image_executes_voids_all_that_runs_in_it(copy):
    before = keys_of(ROOT)
    replace(copy / "baselines" / "references" / "gae.py", '"""', '"""A change. ')
    assert report(before, keys_of(copy)).startswith(f"{len(before)} of {len(before)} cells run again")


def test_new_cells_and_cells_that_are_gone_are_counted_apart():
    assert report({"quick gae a": "1", "quick gae b": "2"}, {"quick gae a": "1", "quick dqn c": "3"}) == (
        "0 of 2 cells run again; 1 are new, 1 are gone"
    )


def test_a_checkout_whose_keys_cannot_be_made_is_said_in_one_line(tmp_path):
    with pytest.raises(SystemExit, match=r"the keys of .* cannot be made: "):
        keys_of(tmp_path)
