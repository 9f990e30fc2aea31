"""An image is known by what goes into it: its identity changes exactly when that does."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from runner.images.identity import DOCUMENTS, identify
from runner.images.lock import Lock, Package, lock_file
from runner.images.spec import ImageSpec
from runner.matrix.images import CORE, OURS
from runner.matrix.toolchain import Toolchain

ROOT = Path(__file__).parents[3]
TOOLCHAIN = Toolchain(name="t", suite="trixie", rust="1.0.0", python="3.0.0", pytorch="2.0.0")
SPEC = ImageSpec(target=CORE, architecture="amd64", toolchain=TOOLCHAIN)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "docker/Dockerfile",
        "rust/src/lib.rs",
        "baselines/gae.py",
        "runner/cli/main.py",
        "templates/page.md.j2",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    for name in ("matrix.yaml", "pyproject.toml", "uv.lock", "LICENSE", ".dockerignore"):
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "execution_hash"),
    [
        ("core", "a32e5d2321f5b7916491c3b67f679b430652ebf187b0623aea5fd1733880ef34"),
        ("edge", "45bc6cb837bb95c288751ad84b4519bbe848b249d6003971c26c24b7c5ab65a5"),
        ("compile", "01d6e435484b9626b665a020fd1f0b7e1bc41ad976c59506e88ddaafae3b94b4"),
    ],
)
def test_the_same_files_and_pins_have_the_execution_hash_that_records_of_2026_have(
    root, target, execution_hash
):
    assert identify(replace(SPEC, target=OURS[target]), root).execution_hash == execution_hash


@pytest.mark.parametrize(
    "name", ["docker/Dockerfile", "rust/src/lib.rs", "baselines/gae.py", ".dockerignore"]
)
def test_what_is_executed_changes_both_hashes(root, name):
    before = identify(SPEC, root)
    (root / name).write_text("changed")
    after = identify(SPEC, root)
    assert after.identity != before.identity
    assert after.execution_hash != before.execution_hash


@pytest.mark.parametrize(
    "name",
    ["runner/cli/main.py", "templates/page.md.j2", "matrix.yaml", "pyproject.toml", "uv.lock", "LICENSE"],
)
def test_what_only_the_runner_reads_changes_the_image_and_runs_nothing_again(root, name):
    before = identify(SPEC, root)
    (root / name).write_text("changed")
    after = identify(SPEC, root)
    assert after.identity != before.identity
    assert after.execution_hash == before.execution_hash


@pytest.mark.parametrize(
    "name",
    ["rust/target/debug/x", "baselines/__pycache__/a.pyc", "baselines/.venv/x", "README.md", "tests/x.py"],
)
def test_caches_and_what_is_not_built_change_nothing(root, name):
    before = identify(SPEC, root)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("x")
    assert identify(SPEC, root) == before


def test_a_renamed_file_and_an_executable_bit_are_changes(root):
    before = identify(SPEC, root)
    (root / "baselines/gae.py").chmod(0o755)
    assert identify(SPEC, root) != before
    (root / "baselines/gae.py").chmod(0o644)
    assert identify(SPEC, root) == before
    (root / "baselines/gae.py").rename(root / "baselines/other.py")
    assert identify(SPEC, root) != before


@pytest.mark.parametrize(
    "spec",
    [
        replace(SPEC, target=OURS["peers"]),
        replace(SPEC, architecture="arm64"),
        replace(SPEC, toolchain=replace(TOOLCHAIN, rust="1.0.1")),
    ],
)
def test_another_target_architecture_or_pin_is_another_image(root, spec):
    assert identify(spec, root) != identify(SPEC, root)


def test_the_same_files_in_another_folder_are_the_same_image(root, tmp_path_factory):
    copy = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(root, copy)
    assert identify(SPEC, copy) == identify(SPEC, root)


def test_every_folder_of_the_build_context_is_part_of_the_identity():
    """What .dockerignore lets through and identity.py leaves out would change an image unseen."""
    from runner.images.identity import EXECUTED, READ_BY_THE_RUNNER  # noqa: PLC0415

    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert allowed == {*EXECUTED, *READ_BY_THE_RUNNER} - {".dockerignore"}


def write_lock(root, version="1", checksum="a", **names):
    asked = {"toolchain": "t", "kind": "image", "architecture": "amd64", **names}
    path = lock_file(root, asked["toolchain"], asked["kind"], asked["architecture"])
    path.parent.mkdir(parents=True, exist_ok=True)
    package = Package(
        name="libc6",
        version=version,
        architecture="amd64",
        size=1,
        sha256=checksum * 64,
        path="pool/libc6.deb",
    )
    lock = Lock(
        suite="trixie", mirror="http://m", archive="http://a/1", asked=("libc6",), packages=(package,)
    )
    path.write_text(str(lock))
    return path


def test_a_locked_package_that_changed_is_another_execution(root):
    write_lock(root)
    before = identify(SPEC, root)
    write_lock(root, version="2", checksum="b")
    assert identify(SPEC, root).execution_hash != before.execution_hash
    write_lock(root)
    assert identify(SPEC, root) == before


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_what_compiles_counts_on_whichever_machine_it_compiles(root, architecture):
    before = identify(SPEC, root)
    write_lock(root, kind="tools", architecture=architecture)
    assert identify(SPEC, root).execution_hash != before.execution_hash


def test_where_packages_came_from_and_how_a_lock_is_laid_out_change_nothing(root):
    path = write_lock(root)
    before = identify(SPEC, root)
    path.write_text(path.read_text().replace("http://a/1", "http://b/2") + "\n\n")
    assert identify(SPEC, root) == before
    dated = replace(TOOLCHAIN, snapshot="20261101T000000Z", archive="http://archive.example")
    assert identify(replace(SPEC, toolchain=dated), root) == before


@pytest.mark.parametrize("names", [{"toolchain": "other"}, {"architecture": "arm64"}])
def test_the_lock_of_another_toolchain_or_architecture_is_none_of_this_image(root, names):
    before = identify(SPEC, root)
    write_lock(root, **names)
    assert identify(SPEC, root) == before


def test_a_module_called_target_is_an_input_like_any_other(root):
    before = identify(SPEC, root)
    module = root / "rust" / "src" / "target" / "mod.rs"
    module.parent.mkdir()
    module.write_text("x")
    assert identify(SPEC, root).execution_hash != before.execution_hash


def test_a_lint_cache_is_neither_hashed_nor_built(root):
    before = identify(SPEC, root)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in ("__pycache__", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"):
        assert f"**/{name}" in ignored
        (root / "baselines" / name).mkdir()
        (root / "baselines" / name / "x").write_text("x")
    assert identify(SPEC, root) == before


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_for_people_is_neither_hashed_nor_built(root, name):
    assert (ROOT / name).is_file()
    before = identify(SPEC, root)
    (root / name).write_text("A page.")
    assert identify(SPEC, root) == before
    assert name in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
