"""What each Rust crate says of itself to a registry."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from documents.markdown import ROOT

RUST = ROOT / "rust"
OURS_ALONE = {"torchforge-bench", "torchforge-py"}
PUBLISHED = sorted(
    path.parent
    for path in RUST.glob("crates/*/Cargo.toml")
    if tomllib.loads(path.read_text(encoding="utf-8"))["package"].get("publish") is not False
)
# crates.io refuses more, and longer ones.
MOST_KEYWORDS = 5
LONGEST_KEYWORD = 20


def manifest(path: Path) -> dict[str, Any]:
    return tomllib.loads((path / "Cargo.toml").read_text(encoding="utf-8"))


def test_the_command_and_the_python_module_are_published_nowhere():
    assert {path.name for path in RUST.glob("crates/*")} - {path.name for path in PUBLISHED} == OURS_ALONE


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name)
def test_a_published_crate_says_what_it_is_and_carries_its_licence(path):
    package = manifest(path)["package"]
    assert package["description"]
    assert package["categories"]
    assert 0 < len(package["keywords"]) <= MOST_KEYWORDS
    assert all(
        re.fullmatch(rf"[a-z][a-z0-9-]{{0,{LONGEST_KEYWORD - 1}}}", each) for each in package["keywords"]
    )
    for inherited in ("version", "license", "rust-version"):
        assert package[inherited] == {"workspace": True}
    assert package["metadata"]["docs"]["rs"]["targets"]
    readme = (path / package["readme"]).read_text(encoding="utf-8")
    assert readme.startswith(f"# {package['name']}\n")
    assert "```rust" in readme, "a README begins with an example"
    assert list((path / "examples").glob("*.rs"))
    assert (path / "LICENSE").resolve() == ROOT / "LICENSE"
    assert {"/LICENSE", "/README.md", "/src"} <= set(package["include"])


def test_crates_need_each_other_in_the_version_that_they_are_released_in():
    workspace = manifest(RUST)["workspace"]
    exact = f"={workspace['package']['version']}"
    ours = {name: each for name, each in workspace["dependencies"].items() if "path" in each}
    assert {name: each.get("version") for name, each in ours.items()} == {
        name: None if name in OURS_ALONE else exact for name in ours
    }
    assert len(ours) >= len(PUBLISHED)


def test_the_map_of_the_crates_shows_the_program_that_is_tested():
    program = (RUST / "crates/torchforge/examples/dqn.rs").read_text(encoding="utf-8")
    _, _, code = program.partition("\n\n")
    assert f"```rust\n{code}```" in (RUST / "README.md").read_text(encoding="utf-8")
