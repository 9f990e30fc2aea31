"""Lock files: what they hold, when they fit, and how a difference is told."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.images import lock as locks
from runner.images.lock import Lock, Package, changes, parse_lock, parse_uris, require_lock, upstream
from runner.matrix import load_matrix
from runner.matrix.toolchain import ARCHITECTURES, Toolchain
from runner.system.errors import PackagesDrifted

TOOLCHAIN = Toolchain(name="t", suite="trixie", rust="1.0.0", python="3.0.0", pytorch="2.0.0")
MIRROR = "http://deb.debian.org/debian"

names = st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,20}", fullmatch=True)
versions = st.from_regex(r"([0-9]:)?[0-9][A-Za-z0-9.+~-]{0,20}", fullmatch=True)
packages = st.builds(
    Package,
    name=names,
    version=versions,
    architecture=st.sampled_from(["amd64", "arm64", "all"]),
    size=st.integers(0, 10**12),
    sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    path=st.from_regex(r"pool/[a-z0-9%+~_-]{1,30}\.deb", fullmatch=True),
)
several = st.lists(packages, min_size=1, max_size=8, unique_by=lambda each: (each.name, each.architecture))


def package(name: str, version: str = "1", *, architecture: str = "amd64", sha256: str = "0") -> Package:
    return Package(
        name=name,
        version=version,
        architecture=architecture,
        size=10,
        sha256=sha256 * 64 if len(sha256) == 1 else sha256,
        path=f"pool/{name}_{version}_{architecture}.deb",
    )


def a_lock(*held: Package, **more) -> Lock:
    return Lock(
        **{
            "suite": "trixie",
            "mirror": MIRROR,
            "archive": "http://snapshot.debian.org/archive/debian/20261121T000000Z",
            "asked": ("a", "b"),
            "packages": held or (package("aa"), package("bb")),
            **more,
        }
    )


@examples(40)
@given(several)
def test_a_lock_survives_being_written_and_read(held):
    lock = a_lock(*sorted(held))
    assert parse_lock(str(lock), name="x") == lock


@examples(40)
@given(several, st.randoms())
def test_the_order_in_which_packages_came_does_not_show(held, random):
    shuffled = list(held)
    random.shuffle(shuffled)
    assert str(a_lock(*shuffled)) == str(a_lock(*held))


@given(st.text())
def test_rubbish_is_refused_in_words_and_never_with_a_traceback(text):
    with pytest.raises(PackagesDrifted) as caught:
        parse_lock(text, name="docker/lock/t/image-amd64.txt")
    assert "docker/lock/t/image-amd64.txt" in caught.value.what


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace("# mirror: ", "# mirrored: "), '"# mirror: ..."'),
        (lambda text: text + str(package("aa", "2")) + "\n", "twice"),
        (lambda text: text.replace(" pool/a", " ../pool/a"), "line 7"),
        (lambda text: text.replace(" pool/a", " pool/../../a"), "line 7"),
        (lambda text: text.replace(" 1 amd64", " $(reboot) amd64", 1), "line 7"),
        (lambda text: "\n".join(text.splitlines()[:6]), "no package"),
    ],
)
def test_a_damaged_lock_says_where(damage, said):
    with pytest.raises(PackagesDrifted) as caught:
        parse_lock(damage(str(a_lock())), name="x")
    assert said in caught.value.why
    assert "runner lock" in caught.value.fix


def test_what_apt_prints_becomes_packages_with_their_epoch_and_path():
    checksum = "ab" * 32
    text = (
        f"'{MIRROR}/pool/main/n/numpy/python3-numpy_2.2.4%2bds-1_amd64.deb' "
        f"python3-numpy_1%3a2.2.4+ds-1_amd64.deb 4500 SHA256:{checksum}\n"
    )
    assert parse_uris(text, mirror=MIRROR) == (
        Package(
            name="python3-numpy",
            version="1:2.2.4+ds-1",
            architecture="amd64",
            size=4500,
            sha256=checksum,
            path="pool/main/n/numpy/python3-numpy_2.2.4%2bds-1_amd64.deb",
        ),
    )


@pytest.mark.parametrize(
    "line",
    [
        f"'{MIRROR}/pool/a_1_amd64.deb' a_1_amd64.deb 10 MD5Sum:{'0' * 32}",
        f"'http://elsewhere.example/debian/pool/a_1_amd64.deb' a_1_amd64.deb 10 SHA256:{'0' * 64}",
        f"'{MIRROR}/pool/a_1_amd64.deb' a_1_amd64.deb 10 ",
    ],
)
def test_a_package_without_a_sha256_or_from_elsewhere_is_not_locked(line):
    with pytest.raises(ValueError, match="not a package of"):
        parse_uris(line, mirror=MIRROR)


def test_changes_tell_versions_arrivals_departures_and_files_replaced_under_the_same_version():
    before = [package("same"), package("newer", "1"), package("gone"), package("rebuilt", sha256="1")]
    after = [
        package("same"),
        package("newer", "2", sha256="2"),
        package("come"),
        package("rebuilt", sha256="2"),
    ]
    assert [str(each) for each in changes(before, after)] == [
        "come: absent -> 1",
        "gone: 1 -> absent",
        "newer: 1 -> 2",
        "rebuilt: 1 -> another file of the same version",
    ]


def test_a_package_on_both_architectures_is_told_apart():
    before = [package("libc6"), package("libc6", architecture="arm64", sha256="1")]
    after = [package("libc6"), package("libc6", "2", architecture="arm64", sha256="2")]
    assert [str(each) for each in changes(before, after)] == ["libc6:arm64: 1 -> 2"]


@examples(40)
@given(several)
def test_a_lock_has_not_changed_against_itself(held):
    assert changes(held, reversed(held)) == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for kind, name in locks.REQUESTS.items():
        path = tmp_path / "docker" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a\nb\n", encoding="utf-8")
        locks.write_locks(tmp_path, "t", {(kind, "amd64"): a_lock()})
    return tmp_path


def test_a_lock_that_fits_is_what_is_built(root):
    assert require_lock(root, TOOLCHAIN, "image", "amd64") == a_lock()


def test_a_toolchain_without_a_lock_is_told_how_to_get_one(root):
    with pytest.raises(PackagesDrifted) as caught:
        require_lock(root, TOOLCHAIN, "image", "arm64")
    assert "docker/lock/t/image-arm64.txt" in caught.value.what
    assert "python -m runner lock" in caught.value.fix
    assert caught.value.exit_code == 11


@pytest.mark.parametrize(
    ("toolchain", "said"),
    [
        (replace(TOOLCHAIN, suite="forky"), "suite trixie, not forky"),
        (replace(TOOLCHAIN, snapshot="20261101T000000Z"), "archive/debian/20261101T000000Z"),
    ],
)
def test_a_lock_of_another_suite_or_day_does_not_fit(root, toolchain, said):
    with pytest.raises(PackagesDrifted) as caught:
        require_lock(root, toolchain, "image", "amd64")
    assert said in caught.value.why


def test_a_package_list_that_was_edited_asks_for_a_new_lock_and_names_the_package(root):
    (root / "docker" / "packages.txt").write_text("a\nc\n", encoding="utf-8")
    with pytest.raises(PackagesDrifted) as caught:
        require_lock(root, TOOLCHAIN, "image", "amd64")
    assert "not yet c" in caught.value.why
    assert "still b" in caught.value.why


def test_an_equal_lock_is_not_written_again_so_that_its_day_stays_the_day_of_its_packages(root):
    path = locks.lock_file(root, "t", "image", "amd64")
    before = path.read_text()
    later = a_lock(archive="http://snapshot.debian.org/archive/debian/20270101T000000Z")
    assert locks.write_locks(root, "t", {("image", "amd64"): later}) == []
    assert path.read_text() == before
    newer = replace(later, packages=(package("aa", "2"), package("bb")))
    assert locks.write_locks(root, "t", {("image", "amd64"): newer}) == [path]
    assert parse_lock(path.read_text(), name="x") == newer


def test_a_damaged_lock_is_mended_by_writing_it(root):
    path = locks.lock_file(root, "t", "image", "amd64")
    path.write_text("<<<<<<< ours\n")
    assert locks.write_locks(root, "t", {("image", "amd64"): a_lock()}) == [path]
    assert require_lock(root, TOOLCHAIN, "image", "amd64") == a_lock()


def test_drift_of_many_packages_names_twenty_and_counts_the_rest():
    held = [package(f"p{number:03}") for number in range(50)]
    served = [package(f"p{number:03}", "2", sha256="2") for number in range(50)]
    error = locks.drifted("t", {"image-amd64": changes(held, served)}, why="it moved on")
    assert error.what.startswith("50 locked packages of toolchain t drifted")
    assert error.what.count("\n") == 21
    assert "image-amd64: p000: 1 -> 2" in error.what
    assert error.what.endswith("and 30 more")
    for way in ("python -m runner lock", "git diff docker/lock/t", "toolchains.t.snapshot"):
        assert way in error.fix


@given(
    st.text(alphabet="0123456789.", min_size=1),
    st.sampled_from(["", "1:", "17:"]),
    st.sampled_from(["-1", "+dfsg-7", "~rc1-2"]),
)
def test_the_upstream_release_is_what_stands_between_epoch_and_revision(release, epoch, revision):
    assert upstream(f"{epoch}{release}{revision}") == release


def test_a_lock_names_the_pins_that_it_leaves_behind():
    root = Path(__file__).parents[3]
    for toolchain in load_matrix(root / "matrix.yaml").toolchains.values():
        found = [require_lock(root, toolchain, kind, "amd64") for kind in locks.KINDS]
        assert locks.other_pins(toolchain, found) == {}
        older = replace(toolchain, rust="1.0.0", python="3.0.0", pytorch="2.0.0")
        pins = {"rust": toolchain.rust, "python": toolchain.python, "pytorch": toolchain.pytorch}
        assert locks.other_pins(older, found) == pins


def test_a_suites_own_list_of_packages_comes_before_the_ordinary_one(root):
    assert "rustc" not in locks.asked_for(root, "tools", "t")
    (root / "docker" / "tools-t.txt").write_text("rustc\ngcc\n", encoding="utf-8")
    assert locks.asked_for(root, "tools", "t") == ("rustc", "gcc")
    assert locks.asked_for(root, "tools", "another") == locks.asked_for(root, "tools", "others")
    assert "rustc" not in locks.asked_for(root, "tools", "another")


@pytest.mark.parametrize("kind", locks.KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_shipped_toolchains_are_locked_for_both_architectures(kind, architecture):
    root = Path(__file__).parents[3]
    for toolchain in load_matrix(root / "matrix.yaml").toolchains.values():
        lock = require_lock(root, toolchain, kind, architecture)
        below = require_lock(root, toolchain, locks.BELOW.get(kind, kind), architecture)
        held = {each.name for each in (*lock.packages, *below.packages)}
        pinned = {
            "image": {"python3", "python3-torch", "libc6"},
            "compile": {"g++", "libtorch-dev", "libpython3-dev", "python3-setuptools"},
            # Debian 13 has the newer Rust under another name.
            "tools": {"rustc-web" if toolchain.suite == "trixie" else "rustc", "gcc", "python3"},
            "cpp": {"g++"},
        }[kind]
        assert pinned <= held
        assert {each.architecture for each in lock.packages} <= {*ARCHITECTURES, "all"}
        if kind == "image":
            assert {each.architecture for each in lock.packages} == {architecture, "all"}


def test_what_lies_on_top_of_an_image_is_locked_without_the_image():
    image, compiler = package("libc6", "1"), package("g++", "1")
    assert locks.beyond([image], [compiler, image]) == (compiler,)
    with pytest.raises(ValueError, match="libc6"):
        locks.beyond([image], [compiler, package("libc6", "2", sha256="1")])


def test_uv_is_the_same_release_in_the_image_build_and_on_a_host():
    for name in ("Makefile", "docker/tools.sh"):
        text = (Path(__file__).parents[3] / name).read_text()
        assert re.search(r"pip install .*--require-hashes .*uv\.txt", text), f"{name} installs uv another way"
