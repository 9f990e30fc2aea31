"""The Python programs that run inside the build: which versions an image says it holds, and Cargo's stubs."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCKER = Path(__file__).parents[3] / "docker"
STATUS = """Package: libc6
Status: install ok installed
Version: 2.41-12

Package: libopenblas0-pthread
Version: 0.3.29+ds-3

Package: python3
Description: a language
 Version: 0 is what a continuation line may look like
Version: 3.13.5-1

Package: python3-numpy
Version: 1:2.2.4+ds-1

Package: python3-torch
Version: 2.6.0+dfsg-8
"""


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCKER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_versions_are_those_of_the_package_status() -> None:
    assert program("describe").package_versions(STATUS) == {
        "libc6": "2.41-12",
        "libopenblas0-pthread": "0.3.29+ds-3",
        "python3": "3.13.5-1",
        "python3-numpy": "1:2.2.4+ds-1",
        "python3-torch": "2.6.0+dfsg-8",
    }


def test_an_image_without_a_package_that_its_pins_rest_on_is_refused_by_name() -> None:
    without = STATUS.replace("Package: python3-torch", "Package: other")
    with pytest.raises(SystemExit, match="python3-torch"):
        program("describe").package_versions(without)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    crate = tmp_path / "rust" / "crates" / "a"
    for name in ("src/lib.rs", "src/main.rs", "src/kernel.rs", "benches/speed.rs", "build.rs"):
        path = crate / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("fn real() {}\n", encoding="utf-8")
    (crate / "Cargo.toml").write_text("[package]\n", encoding="utf-8")
    (tmp_path / "rust" / "Cargo.lock").write_text("version = 4\n", encoding="utf-8")
    return tmp_path / "rust"


def stubbed(workspace: Path, target: Path) -> dict[str, str]:
    program("stub_crates").main(workspace, target)
    return {
        str(path.relative_to(target)): path.read_text(encoding="utf-8")
        for path in target.rglob("*")
        if path.is_file()
    }


def test_stubs_keep_the_manifests_and_no_line_of_the_sources(workspace: Path, tmp_path: Path) -> None:
    found = stubbed(workspace, tmp_path / "stubs")
    assert found["Cargo.lock"] == "version = 4\n"
    assert found["crates/a/Cargo.toml"] == "[package]\n"
    assert {"crates/a/src/lib.rs", "crates/a/src/main.rs", "crates/a/build.rs"} <= found.keys()
    assert not any("real" in text for text in found.values())


def test_a_source_file_changed_or_added_leaves_the_stubs_and_a_manifest_does_not(
    workspace: Path, tmp_path: Path
) -> None:
    before = stubbed(workspace, tmp_path / "before")
    (workspace / "crates/a/src/lib.rs").write_text("fn other() {}\n", encoding="utf-8")
    (workspace / "crates/a/src/more.rs").write_text("fn more() {}\n", encoding="utf-8")
    assert stubbed(workspace, tmp_path / "sources") == before
    (workspace / "crates/a/Cargo.toml").write_text("[package]\nname = 'a'\n", encoding="utf-8")
    assert stubbed(workspace, tmp_path / "manifests") != before
