"""A reference's kept outputs are those of its last launch, under the hash of what they are."""

from pathlib import Path

import pytest

from runner.records import references
from runner.records.store import Store
from runner.system.errors import StoreError

KEY = "0" * 64


def outputs(folder: Path, content: str) -> Path:
    folder.mkdir()
    (folder / "y.npy").write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_what_is_kept_is_found_again_under_the_hash_of_its_files(store: Store, tmp_path: Path) -> None:
    path = references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    assert references.usable(store, KEY) == path
    assert (path / "y.npy").read_text(encoding="utf-8") == "one"


def test_the_outputs_of_a_later_launch_take_the_place_of_earlier_ones(store: Store, tmp_path: Path) -> None:
    references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    path = references.keep(store, KEY, outputs(tmp_path / "b", "two"))
    assert references.usable(store, KEY) == path
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert (path / "y.npy").read_text(encoding="utf-8") == "two"


def test_the_same_outputs_are_kept_once(store: Store, tmp_path: Path) -> None:
    first = references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    assert references.keep(store, KEY, outputs(tmp_path / "b", "one")) == first


@pytest.mark.parametrize("altered", ["content", "name", "more", "less"])
def test_altered_outputs_are_refused_on_use_and_replaced_by_the_next_launch(
    store: Store, tmp_path: Path, altered: str
) -> None:
    path = references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    match altered:
        case "content":
            (path / "y.npy").write_text("another", encoding="utf-8")
        case "name":
            (path / "y.npy").rename(path / "z.npy")
        case "more":
            (path / "z.npy").write_text("more", encoding="utf-8")
        case "less":
            (path / "y.npy").unlink()
    with pytest.raises(StoreError, match="the kept outputs of a reference were altered") as caught:
        references.usable(store, KEY)
    assert "the reference is then run again" in caught.value.fix
    again = references.keep(store, KEY, outputs(tmp_path / "b", "one"))
    assert references.usable(store, KEY) == again


def test_two_contents_under_one_key_are_none(store: Store, tmp_path: Path) -> None:
    path = references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    outputs(path.parent / ("1" * 64), "two")
    assert references.usable(store, KEY) is None


def test_what_an_earlier_version_kept_is_none(store: Store) -> None:
    folder = store.root / "references" / KEY
    folder.mkdir(parents=True)
    (folder / "y.npy").write_text("one", encoding="utf-8")
    assert references.usable(store, KEY) is None


def test_what_is_forgotten_is_not_kept(store: Store, tmp_path: Path) -> None:
    references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    references.forget(store, KEY)
    references.forget(store, KEY)
    assert references.usable(store, KEY) is None


def test_kept_outputs_are_a_records_only_if_each_file_is(store: Store, tmp_path: Path) -> None:
    path = references.keep(store, KEY, outputs(tmp_path / "a", "one"))
    found = references.kept(store, KEY)
    assert found is not None
    assert found.path == path
    assert found.are(found.files)
    assert not found.are({**found.files, "y.npy": "0" * 64})
    assert not found.are({})
