"""What the release workflow says of a release."""

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from documents.markdown import ROOT

SCRIPT = ROOT / ".github" / "scripts" / "release.py"
REPOSITORY = "ghcr.io/somebody/forge-bench"
DIGESTS = {
    name: f"sha256:{hashlib.sha256(name.encode()).hexdigest()}" for name in ("index", "amd64", "arm64")
}
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- A thing to come.

## [0.2.0] - 2027-01-31

### Fixed

- Something that was broken.

## [0.1.0] - 2026-12-01

- The first one.

[0.2.0]: https://forge.invalid/compare/v0.1.0...v0.2.0
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    specification = importlib.util.spec_from_file_location("release", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["release"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def digests(tmp_path: Path) -> Path:
    path = tmp_path / "digests.tsv"
    path.write_text(
        f"core\tindex\t{DIGESTS['index']}\n"
        f"core\tlinux/amd64\t{DIGESTS['amd64']}\n"
        f"core\tlinux/arm64\t{DIGESTS['arm64']}\n"
    )
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "torchforge_rl-0.2.0.whl"
    path.write_bytes(b"a wheel")
    return path


def tree_of(root: Path, version: str, changelog: str = CHANGELOG) -> Path:
    (root / "rust").mkdir()
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "rust" / "Cargo.toml").write_text(f'[workspace.package]\nversion = "{version}"\n')
    (root / "CHANGELOG.md").write_text(changelog)
    return root


def test_a_tag_that_every_place_agrees_with_is_released(release: ModuleType, tmp_path: Path) -> None:
    assert release.disagreements("v0.2.0", tree_of(tmp_path, "0.2.0")) == []


def test_each_place_that_says_another_version_is_named(release: ModuleType, tmp_path: Path) -> None:
    found = release.disagreements("v0.2.1", tree_of(tmp_path, "0.2.0"))
    assert [line.split()[0] for line in found] == ["pyproject.toml", "rust/Cargo.toml", "CHANGELOG.md"]


def test_what_has_no_date_in_the_changelog_is_not_released(release: ModuleType, tmp_path: Path) -> None:
    found = release.disagreements(
        "v0.2.0", tree_of(tmp_path, "0.2.0", "# Changelog\n\n## [Unreleased]\n\n- All.\n")
    )
    assert found == ["CHANGELOG.md says nothing with a date, the tag says v0.2.0"]


def test_the_repository_itself_states_one_version(release: ModuleType) -> None:
    stated = release.versions(ROOT)
    assert stated["pyproject.toml"] == stated["rust/Cargo.toml"]


def test_notes_hold_the_changes_every_digest_and_every_checksum(
    release: ModuleType, digests: Path, wheel: Path
) -> None:
    pushed = release.read_entries(digests)
    text = release.notes("v0.2.0", REPOSITORY, pushed, [wheel], changelog=CHANGELOG)
    assert text.startswith("### Fixed\n\n- Something that was broken.\n")
    assert "A thing to come" not in text
    assert "The first one" not in text
    for digest in DIGESTS.values():
        assert f"`{REPOSITORY}@{digest}`" in text
    assert f"{hashlib.sha256(b'a wheel').hexdigest()}  {wheel.name}" in text


def test_notes_run_a_platform_by_its_own_digest_and_never_the_index(
    release: ModuleType, digests: Path, wheel: Path
) -> None:
    text = release.notes("v0.2.0", REPOSITORY, release.read_entries(digests), [wheel], changelog=CHANGELOG)
    command = next(line for line in text.splitlines() if "docker run" in line)
    assert DIGESTS["amd64"] in command


def test_a_version_without_a_section_ends_the_release(
    release: ModuleType, digests: Path, wheel: Path
) -> None:
    with pytest.raises(SystemExit, match=r"no section for 0\.3\.0"):
        release.notes("v0.3.0", REPOSITORY, release.read_entries(digests), [wheel], changelog=CHANGELOG)


def test_subjects_are_lines_that_sha256sum_would_print(
    release: ModuleType, digests: Path, wheel: Path
) -> None:
    text = release.subjects(REPOSITORY, release.read_entries(digests), [wheel])
    lines = [line.split("  ") for line in text.splitlines()]
    assert [name for _, name in lines] == [REPOSITORY] * 3 + [wheel.name]
    checked = subprocess.run(
        ["sha256sum", "--check"],
        cwd=wheel.parent,
        input="\n".join(line for line in text.splitlines() if line.endswith(".whl")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0


def test_the_command_prints_the_platforms_as_json_for_a_job_matrix(digests: Path) -> None:
    result = subprocess.run([SCRIPT, "platforms", digests], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == [
        {"target": "core", "architecture": each, "digest": DIGESTS[each]} for each in ("amd64", "arm64")
    ]
