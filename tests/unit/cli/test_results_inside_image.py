"""Where results go inside an image, and what is said when there is nowhere."""

import tempfile

import pytest

from runner.records import results_directory as results
from runner.system.errors import StoreError


def test_a_container_with_nothing_to_write_to_is_told_which_option_it_lacks(monkeypatch, tmp_path):
    # What Python itself does where every candidate is read-only: nothing is cached, no candidate works.
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "missing")])
    with pytest.raises(StoreError) as caught:
        results.store_inside_image(lambda _: None)
    assert "--tmpfs /tmp" in caught.value.fix
    assert caught.value.exit_code == 8


def test_a_container_with_a_temporary_directory_keeps_its_records_there_and_says_so():
    said: list[str] = []
    store = results.store_inside_image(said.append)
    assert store.root.is_dir()
    assert "-v DIR:/results" in said[0]
    store.root.rmdir()
