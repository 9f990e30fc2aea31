"""What is read from this machine, where an invented state would beg the question."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from runner.host.probe import results_of
from runner.host.state import Remedy
from runner.records.store import Store


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory can be written. The tests may be root, to whom none is closed."""

    def refuse(**_: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)


@pytest.mark.usefixtures("closed")
def test_a_results_directory_that_is_not_there_is_to_be_made_and_its_parents_are_left_alone(tmp_path):
    results = results_of(Store(tmp_path / "not" / "there"))
    assert (results.path, results.remedy) == (tmp_path / "not" / "there", Remedy.MAKE)


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("name", ["records", "logs", ".part-1-2-3-x"])
def test_a_directory_of_results_may_be_given_to_the_user(tmp_path, name):
    (tmp_path / name).mkdir()
    assert results_of(Store(tmp_path)).remedy is Remedy.TAKE


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("place", ["/", "holds more"])
def test_a_directory_that_holds_anything_else_is_given_to_nobody(tmp_path, place):
    (tmp_path / "records").mkdir()
    (tmp_path / "thesis.tex").touch()
    results = results_of(Store(Path(place) if place == "/" else tmp_path))
    assert results.problem is not None
    assert results.remedy is None


def test_a_file_in_the_way_is_not_mended_by_giving_it_away(tmp_path):
    (tmp_path / "file").touch()
    results = results_of(Store(tmp_path / "file" / "results"))
    assert results.problem is not None
    assert results.remedy is None


def test_a_directory_that_can_be_written_is_named_though_it_is_not_there_yet(tmp_path):
    results = results_of(Store(tmp_path / "results"))
    assert (results.path, results.problem) == (tmp_path / "results", None)
    assert not results.path.exists()
