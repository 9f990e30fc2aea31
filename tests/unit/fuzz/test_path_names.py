"""No name, wherever it comes from, makes the runner read or write outside its directories."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.records.store import Store
from runner.referee.protocol import arguments
from runner.system.errors import StoreError
from runner.system.paths import clashing, component, portable

# What has led elsewhere, or to another file than the one that was named, on one system or another.
HOSTILE = (
    "..", ".", "", "/", "//", "/etc/passwd", "../x", "a/../../x", "a/b", "a\\b", "..\\x", "C:x", "a:b", "~", "~root",
    "a\0b", "a\n", "\n", " a", "a ", "a.", "...", ".hidden", "-rf", "--help", "a" * 201, "a" * 100_000, "CON", "nul",
    "aux.json", "COM1.log", "lpt9", "\uff0e\uff0e", "\u2024\u2024", "a\u202eb", "\ud800", "e\u0301", "\u212a", "a*",
    "a?b", "$HOME", "$(id)", "`id`", "%00", "%2e%2e", "a;b", "a|b", "a<b", "a\x7f", "\u0430",
)  # fmt: skip
ANY = (
    st.text(max_size=40) | st.sampled_from(HOSTILE) | st.from_regex(r"[A-Za-z0-9=._-]{1,20}", fullmatch=True)
)


@given(ANY)
def test_what_is_portable_is_one_component_that_every_system_stores_as_it_is(name: str) -> None:
    if not portable(name):
        return
    assert Path(name).parts == (name,)
    assert os.path.normpath(name) == name
    assert (Path("/x") / name).parent == Path("/x")
    assert name.isascii()
    assert name.isprintable()
    assert not set(name) & set('/\\:*?"<>| \0$`;&')
    assert not name.startswith((".", "-"))
    assert not name.endswith(".")
    assert len(name) <= 200


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_could_lead_elsewhere_is_refused_where_the_path_is_made(name: str) -> None:
    assert not portable(name)
    with pytest.raises(StoreError, match="cannot be the name of a file"):
        component(name)


@pytest.mark.parametrize(
    "name", ["gae", "T=128", "8x128", "CartPole-v1", "CONSOLE", "nullify.npy", "a" * 200]
)
def test_what_people_call_things_is_portable(name: str) -> None:
    assert component(name) == name


@given(area=ANY, key=ANY, launch=ANY, digest=ANY, benchmark=ANY, identifier=ANY)
@example(area="records", key="..", launch="..", digest="sha256:../x", benchmark="../..", identifier="/tmp/x")
def test_the_store_reads_and_writes_below_its_own_directory_alone(
    tmp_path_factory: pytest.TempPathFactory,
    area: str,
    key: str,
    launch: str,
    digest: str,
    benchmark: str,
    identifier: str,
) -> None:
    outer = tmp_path_factory.mktemp("store")
    source = outer / "source"
    source.mkdir()
    (source / "x.npy").write_bytes(b"x")
    store = Store(outer / "a" / "b")
    before = set(outer.rglob("*"))
    record = {"id": identifier, "cell": {"benchmark": benchmark}}
    calls: list[tuple[Any, ...]] = [
        (store.save_files, area, key, source),
        (store.files, area, key),
        (store.log_path, launch),
        (store.write_probe, digest, {}),
        (store.read_probe, digest),
        (store.add, record),
    ]
    for call, *words in calls:
        try:
            found = call(*words)
        except StoreError:
            continue
        if isinstance(found, Path):
            assert found.resolve().is_relative_to(store.root.resolve())
    for path in set(outer.rglob("*")) - before:
        assert path.is_relative_to(outer / "a"), path
    assert (source / "x.npy").read_bytes() == b"x"


def test_the_stores_own_link_does_not_lead_a_writer_elsewhere(tmp_path: Path) -> None:
    """A results directory from elsewhere may hold links; what is written replaces them and does not follow."""
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    store = Store(tmp_path / "results")
    (store.root / "probes").mkdir(parents=True)
    (store.root / "probes" / f"{'0' * 64}.json").symlink_to(victim)
    store.write_probe("sha256:" + "0" * 64, {"python": "3"})
    assert victim.read_text(encoding="utf-8") == "mine"
    assert store.read_probe("sha256:" + "0" * 64) == {"python": "3"}


@given(st.lists(st.from_regex(r"[A-Za-z]{1,3}", fullmatch=True), max_size=6, unique=True))
def test_names_clash_where_they_differ_in_letters_case_alone(names: list[str]) -> None:
    folded = [name.lower() for name in names]
    assert bool(clashing(names)) == (len(set(folded)) < len(names))


PARAMETERS = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True),
    st.text(max_size=20) | st.integers() | st.booleans() | st.sampled_from(["-x", "--output", "", "\n"]),
    max_size=4,
)


@given(
    st.lists(st.tuples(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9=._-]{0,9}", fullmatch=True), PARAMETERS)),
    st.integers(0),
)
def test_no_case_and_no_parameter_becomes_an_option(
    cases: list[tuple[str, dict[str, Any]]], seed: int
) -> None:
    words = arguments(cases, seed)
    assert words[::2] == [*["--case", "--parameters"] * len(cases), "--seed"]
    assert not any(word.startswith("-") for word in words[1::2])
