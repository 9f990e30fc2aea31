"""Locked packages, against an archive of our own on loopback that serves two days: the real apt, the real Docker."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from conftest import HOST, ROOT, docker, forge_bench
from dated_archive import Deb, served, write_archive

from runner.images.base import base_tag, ensure_base
from runner.images.build import ensure_image
from runner.images.identity import EXECUTED, READ_BY_THE_RUNNER
from runner.images.lock import REQUESTS, changes, drifted, lock_file, write_locks
from runner.images.resolve import resolve
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix import toolchain as toolchains
from runner.matrix.images import CORE
from runner.matrix.toolchain import Toolchain
from runner.system.errors import ImageBuildFailed, MirrorUnreachable, PackagesDrifted

FIRST, SECOND = "20260101T000000Z", "20260201T000000Z"
SUITE = "tiny"


def packages(version: str) -> list[Deb]:
    return [
        *(Deb("hello", version, each, depends="hello-data (>= 1:1)") for each in ("amd64", "arm64")),
        *(Deb("compiler", version, each) for each in ("amd64", "arm64")),
        Deb("hello-data", "1:1.0+b-1", "all"),
        Deb("unwanted", "1.0", "all"),
    ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Two days of an archive, and what the mirror serves today: the second day's."""
    directory = tmp_path_factory.mktemp("archive")
    for moment, version in ((FIRST, "1.0"), (SECOND, "2.0")):
        write_archive(directory / "archive" / "debian" / moment, SUITE, packages(version))
    write_archive(directory / "debian", SUITE, packages("2.0"), run_out=False)
    with served(directory) as address:
        yield directory, address


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build context of a checkout whose package lists name packages of that archive."""
    copy = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__", ".venv", "target", "lock", ".*_cache")
    for name in (*EXECUTED, *READ_BY_THE_RUNNER):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)
    (copy / "docker" / "packages.txt").write_text("hello\n", encoding="utf-8")
    (copy / "docker" / "compile.txt").write_text("compiler\n", encoding="utf-8")
    (copy / "docker" / "tools.txt").write_text("compiler:@native@\n", encoding="utf-8")
    (copy / "docker" / "cpp.txt").write_text("hello\n", encoding="utf-8")
    return copy


def toolchain(address: str, moment: str | None) -> Toolchain:
    return Toolchain(
        name="tiny",
        suite=SUITE,
        rust="1.0.0",
        python="3.0.0",
        pytorch="2.0.0",
        snapshot=moment,
        archive=f"{address}/archive/debian",
    )


@pytest.fixture(scope="module", autouse=True)
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Bases that take packages without a signature: the archive here has none. What signs is the base's business."""
    shipped = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    real = ensure_base(shipped, log_directory=tmp_path_factory.mktemp("logs"), say=lambda _: None)
    tags = [base_tag(toolchain("", moment)) for moment in (FIRST, SECOND, None)]
    container = docker("create", real, "true").stdout.strip()
    folder = tmp_path_factory.mktemp("configuration")
    (folder / "99unsigned").write_text('Acquire::AllowInsecureRepositories "true";\n', encoding="utf-8")
    try:
        copied = docker("cp", str(folder / "99unsigned"), f"{container}:/etc/apt/apt.conf.d/")
        assert copied.returncode == 0, copied.stderr
        for tag in tags:
            assert docker("commit", container, tag).returncode == 0
        yield
    finally:
        docker("rm", "--force", container)
        docker("rmi", "--force", *tags)


def resolved(root: Path, wanted: Toolchain) -> dict:
    return resolve(wanted, root=root, log_directory=root / "logs", say=lambda _: None)


def test_a_day_gives_the_same_lock_whenever_it_is_asked_and_another_day_drifts_by_name(root, archive):
    _, address = archive
    first = resolved(root, toolchain(address, FIRST))
    again = resolved(root, toolchain(address, FIRST))
    assert {key: str(lock) for key, lock in again.items()} == {key: str(lock) for key, lock in first.items()}
    assert [(each.name, each.version, each.architecture) for each in first["image", "arm64"].packages] == [
        ("hello", "1.0", "arm64"),
        ("hello-data", "1:1.0+b-1", "all"),
    ]
    assert [each.name for each in first["tools", HOST].packages] == ["compiler"]
    assert [each.name for each in first["compile", HOST].packages] == ["compiler"]
    assert [each.name for each in first["cpp", HOST].packages] == ["hello", "hello-data"]
    second = resolved(root, toolchain(address, SECOND))
    found = {"image-amd64": changes(first["image", "amd64"].packages, second["image", "amd64"].packages)}
    assert "1 locked package of toolchain tiny" in drifted("tiny", found, why="").what
    assert "image-amd64: hello: 1.0 -> 2.0" in drifted("tiny", found, why="").what


def test_a_moment_that_the_archive_does_not_have_is_told_as_such(root, archive):
    _, address = archive
    missing = toolchain(address, "20200101T000000Z")
    docker("tag", base_tag(toolchain(address, FIRST)), base_tag(missing))
    try:
        with pytest.raises(MirrorUnreachable) as caught:
            resolved(root, missing)
    finally:
        docker("rmi", base_tag(missing))
    assert "20200101T000000Z" in str(caught.value)


def test_an_archive_without_a_signature_is_refused_by_an_ordinary_base(root, archive, tmp_path):
    _, address = archive
    unsigned = toolchain(address, "20260101T000001Z")
    shipped = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    write_archive(archive[0] / "archive" / "debian" / "20260101T000001Z", SUITE, packages("1.0"))
    docker("tag", base_tag(shipped), base_tag(unsigned))
    try:
        with pytest.raises(ImageBuildFailed) as caught:
            resolved(root, unsigned)
    finally:
        docker("rmi", base_tag(unsigned))
    assert "not signed" in str(caught.value)


def fetch(lock: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    return docker(
        "run", "--rm", "--network", "host", "-v", f"{ROOT / 'docker'}:/forge:ro", "-v", f"{lock}:/lock:ro",
        "-v", f"{directory}:/debs", base_tag(toolchain("", FIRST)), "sh", "/forge/fetch.sh", "/lock", "/debs",
    )  # fmt: skip


def test_what_the_mirror_no_longer_serves_comes_from_the_archive_of_its_day_checked(
    root, archive, tmp_path, monkeypatch
):
    directory, address = archive
    monkeypatch.setattr(toolchains, "MIRROR", f"{address}/debian")
    lock = resolved(root, toolchain(address, FIRST))["image", "amd64"]
    today = str(lock).replace(f"# mirror: {lock.mirror}", f"# mirror: {address}/debian")
    file, debs = tmp_path / "lock.txt", tmp_path / "debs"
    debs.mkdir()
    file.write_text(today, encoding="utf-8")
    result = fetch(file, debs)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["/debs/hello_1.0_amd64.deb", "/debs/hello-data_1.0%2bb-1_all.deb"]
    first_day = directory / "archive" / "debian" / FIRST
    original = (first_day / "pool/main/hello/hello_1.0_amd64.deb").read_bytes()
    assert (debs / "hello_1.0_amd64.deb").read_bytes() == original
    # What lies there already counts by its bytes alone.
    (debs / "hello_1.0_amd64.deb").write_bytes(b"something else")
    assert fetch(file, debs).returncode == 0
    assert (debs / "hello_1.0_amd64.deb").read_bytes() == original
    # So does what a server sends.
    file.write_text(today.replace(lock.packages[0].sha256, "0" * 64), encoding="utf-8")
    forged = fetch(file, debs)
    assert forged.returncode != 0
    assert "forge-bench: not served: hello 1.0 amd64" in forged.stderr
    assert "hello-data" not in forged.stderr.partition("not served")[2]


def test_a_build_whose_packages_are_gone_says_which_and_what_is_served_and_compiles_nothing(
    root, archive, monkeypatch
):
    directory, address = archive
    monkeypatch.setattr(toolchains, "MIRROR", f"{address}/debian")
    today = toolchain(f"{address}/nowhere", None)
    write_archive(directory / "debian", SUITE, packages("1.0"), run_out=False)
    write_locks(root, "tiny", resolved(root, today))
    shutil.rmtree(directory / "debian")
    write_archive(directory / "debian", SUITE, packages("2.0"), run_out=False)
    core = ImageSpec(target=CORE, architecture=HOST, toolchain=today)
    with pytest.raises(PackagesDrifted) as caught:
        ensure_image(core, root=root, log_directory=root / "logs", say=lambda _: None)
    assert caught.value.exit_code == 11
    assert f"tools-{HOST}: compiler: 1.0 -> 2.0" in caught.value.what
    assert f"image-{HOST}: hello: 1.0 -> 2.0" in caught.value.what
    assert "nowhere/archive/debian" in caught.value.why
    log = (root / "logs" / f"build-core-tiny-{HOST}.log").read_text(encoding="utf-8")
    assert "cargo build" not in log
    # Accepted: the lock is written, and what comes next is a lock that fits.
    # What an image holds, what builds it, and the compilers, on two architectures.
    assert len(write_locks(root, "tiny", resolved(root, today))) == 2 * len(REQUESTS)
    assert "hello 2.0" in lock_file(root, "tiny", "image", HOST).read_text(encoding="utf-8")


def test_the_command_names_a_package_that_the_archive_of_that_day_lacks(archive, tmp_path):
    _, address = archive
    data = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    name = next(iter(data["toolchains"]))
    data["toolchains"][name] |= {"suite": SUITE, "snapshot": FIRST, "archive": f"{address}/archive/debian"}
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    before = {path: path.read_bytes() for path in (ROOT / "docker" / "lock").rglob("*.txt")}
    result = forge_bench(
        "lock", "--toolchain", name, "--matrix", str(matrix), "--results", str(tmp_path / "results")
    )
    assert result.returncode == 6, result.stderr
    assert "Unable to locate package" in result.stderr
    assert "lacks a package that a list in docker/ names" in result.stderr
    assert {path: path.read_bytes() for path in (ROOT / "docker" / "lock").rglob("*.txt")} == before
    # And a build from another day than the lock's is not begun.
    build = forge_bench(
        "build", "--matrix", str(matrix), "--results", str(tmp_path / "results"), "--arch", HOST
    )
    assert build.returncode == 11, build.stderr
    assert f"archive/debian/{FIRST}" in build.stderr
