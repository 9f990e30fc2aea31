"""When an image is built, what it is called, what a failed build says; docker is played by an object."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from runner.daemon import docker_command as command
from runner.daemon.endpoint import Endpoint
from runner.images import base, build, inspected, resolve
from runner.images.identity import identify
from runner.images.lock import BELOW, KINDS, Lock, Package, lock_file, write_locks
from runner.images.spec import Image, ImageSpec
from runner.matrix.images import OURS
from runner.matrix.toolchain import Toolchain
from runner.system import machine
from runner.system.errors import ImageBuildFailed, MirrorUnreachable, PackagesDrifted, PinMismatch

TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0")
LOCK = Lock(
    suite="trixie",
    mirror=TOOLCHAIN.mirror,
    archive=TOOLCHAIN.archive_of("20261121T000000Z"),
    asked=("libc6",),
    packages=(
        Package(
            name="libc6",
            version="2.41-12",
            architecture="amd64",
            size=1,
            sha256="a" * 64,
            path="pool/libc6.deb",
        ),
    ),
)


@dataclass
class Daemon:
    """Images by tag, and every command that was given."""

    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    commands: list[tuple[str, ...]] = field(default_factory=list)
    build_log: str | None = None
    # What apt would print for every kind and architecture, when it is asked.
    served: str | None = None

    def __call__(
        self, *arguments: str, log: Path | None = None, **_at: Any
    ) -> "subprocess.CompletedProcess[str]":
        self.commands.append(arguments)
        code, output = 0, ""
        if arguments[:2] == ("image", "inspect"):
            here = [self.images[tag] for tag in arguments[2:] if tag in self.images]
            output = json.dumps(here)
            code = int(len(here) < len(arguments) - 2)
        elif arguments[0] == "tag":
            self.add(arguments[2], self.images[arguments[1]]["Config"]["Labels"])
        elif arguments[0] == "pull":
            code = 1
        elif arguments[:2] == ("buildx", "build") and "resolved" in arguments:
            self.answer(arguments[arguments.index("--output") + 1].partition("dest=")[2], log)
            code = int(self.served is None)
        elif arguments[:2] == ("buildx", "build"):
            assert log is not None
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(self.build_log or "", encoding="utf-8")
            code = int(self.build_log is not None)
            identity = next(word for word in arguments if word.startswith("IDENTITY=")).partition("=")[2]
            for tag in (arguments[at + 1] for at, word in enumerate(arguments) if word == "--tag"):
                self.add(tag, {build.IDENTITY_LABEL: identity})
        return subprocess.CompletedProcess(arguments, code, output, "not there" if code else "")

    def answer(self, directory: str, log: Path | None) -> None:
        assert log is not None
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(
            "#5 1.0 E: Failed to fetch http://deb.debian.org/x  Could not connect to deb.debian.org:80\n"
        )
        # What a compiler takes stands beside what an image holds.
        more = dict.fromkeys(BELOW, served("14", "c", name="g++"))
        for kind in KINDS:
            for architecture in ("amd64", "arm64"):
                text = (self.served or "") + more.get(kind, "")
                (Path(directory) / f"{kind}-{architecture}").write_text(text, encoding="utf-8")

    def add(self, tag: str, labels: dict[str, str]) -> None:
        self.images[tag] = {"Id": "sha256:0", "RepoTags": [tag], "Config": {"Labels": labels}}

    @property
    def builds(self) -> list[tuple[str, ...]]:
        return [each for each in self.commands if each[:2] == ("buildx", "build") and "resolved" not in each]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Daemon:
    played = Daemon()
    played.add(base.base_tag(TOOLCHAIN), {})
    for module in (base, build, command, resolve):
        monkeypatch.setattr(module, "docker", played)
    monkeypatch.setattr(command, "current_endpoint", lambda: Endpoint(context="default", host="unix:///none"))
    monkeypatch.setattr(machine, "architecture", lambda: "amd64")
    played.add(base.base_tag(TOOLCHAIN), {})
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return played


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docker").mkdir()
    for name, text in (
        ("Dockerfile", "FROM scratch\n"),
        ("packages.txt", "libc6\n"),
        ("compile.txt", "g++\n"),
        ("tools.txt", "libc6\n"),
        ("cpp.txt", "g++\n"),
    ):
        (tmp_path / "docker" / name).write_text(text, encoding="utf-8")
    locks = {(kind, architecture): LOCK for kind in ("image", "tools") for architecture in ("amd64", "arm64")}
    write_locks(tmp_path, TOOLCHAIN.name, locks)
    return tmp_path


def spec(target: str = "core", architecture: str = "amd64") -> ImageSpec:
    return ImageSpec(target=OURS[target], architecture=architecture, toolchain=TOOLCHAIN)


def ensure(root: Path, wanted: ImageSpec) -> Image:
    return build.ensure_image(wanted, root=root, log_directory=root / "logs", say=lambda _: None)


def test_an_image_that_is_not_there_is_built_for_one_platform_under_all_its_names(
    root: Path, daemon: Daemon
) -> None:
    image = ensure(root, spec())
    (arguments,) = daemon.builds
    assert arguments[arguments.index("--platform") + 1] == "linux/amd64"
    tags = {arguments[at + 1] for at, word in enumerate(arguments) if word == "--tag"}
    assert tags == {"forge-bench:core-trixie-amd64", "forge-bench:amd64", "forge-bench:latest"}
    assert image.built_seconds is not None
    assert (image.identity, image.execution_hash) == (
        identify(spec(), root).identity,
        identify(spec(), root).execution_hash,
    )


def test_an_unchanged_image_costs_one_question_to_the_daemon(root: Path, daemon: Daemon) -> None:
    ensure(root, spec())
    daemon.commands.clear()
    assert ensure(root, spec()).built_seconds is None
    assert [each[:2] for each in daemon.commands] == [("image", "inspect")]


def test_a_changed_input_builds_again(root: Path, daemon: Daemon) -> None:
    ensure(root, spec())
    (root / "matrix.yaml").write_text("version: 1\n", encoding="utf-8")
    assert ensure(root, spec()).built_seconds is not None
    assert len(daemon.builds) == 2


def test_a_short_name_that_is_gone_or_stands_for_something_else_is_set_without_a_build(
    root: Path, daemon: Daemon
) -> None:
    ensure(root, spec())
    del daemon.images["forge-bench:latest"]
    daemon.add("forge-bench:amd64", {build.IDENTITY_LABEL: "of another checkout"})
    assert ensure(root, spec()).built_seconds is None
    assert len(daemon.builds) == 1
    assert {"forge-bench:latest", "forge-bench:amd64"} <= daemon.images.keys()


def test_an_image_of_a_release_is_pulled_and_gets_all_its_names(
    root: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = identify(spec(), root).identity

    def pull(*_: Any, **__: Any) -> str:
        daemon.add("sha256:pulled", {build.IDENTITY_LABEL: identity})
        return "sha256:pulled"

    monkeypatch.setattr(build, "pull_released", pull)
    image = build.ensure_image(
        spec(), root=root, log_directory=root / "logs", say=lambda _: None, registry="registry.example/x"
    )
    assert (image.identity, image.built_seconds, daemon.builds) == (identity, None, [])
    assert {
        "forge-bench:core-trixie-amd64",
        "forge-bench:amd64",
        "forge-bench:latest",
    } <= daemon.images.keys()


def test_an_image_that_no_registry_has_is_built_after_the_reason_was_said(root: Path, daemon: Daemon) -> None:
    said: list[str] = []
    build.ensure_image(
        spec(), root=root, log_directory=root / "logs", say=said.append, registry="registry.example/x"
    )
    assert len(daemon.builds) == 1
    assert (
        said[0]
        == "forge-bench:core-trixie-amd64 will be built: images.json names no image of exactly these files"
    )


def test_short_names_are_those_of_one_toolchain(root: Path, daemon: Daemon) -> None:
    # The second call finds the image, and gives it its short names.
    for toolchain, short in (("another", False), ("trixie", True)):
        build.ensure_image(
            spec(), root=root, log_directory=root / "logs", say=lambda _: None, short_names_of=toolchain
        )
        assert "forge-bench:core-trixie-amd64" in daemon.images
        assert ("forge-bench:latest" in daemon.images) == short


def test_latest_is_the_hosts_own_architecture(root: Path, daemon: Daemon) -> None:
    ensure(root, spec(architecture="arm64"))
    assert "forge-bench:arm64" in daemon.images
    assert "forge-bench:latest" not in daemon.images


def test_a_host_with_its_own_certificate_authority_passes_its_bundle_as_a_secret(
    root: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = root / "bundle.crt"
    bundle.write_text("x", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    ensure(root, spec())
    (arguments,) = daemon.builds
    assert arguments[arguments.index("--secret") + 1] == f"id=ca,src={bundle}"
    assert not any(str(bundle) in word for word in arguments if word != f"id=ca,src={bundle}")


def test_an_ordinary_host_passes_no_secret(root: Path, daemon: Daemon) -> None:
    ensure(root, spec())
    assert "--secret" not in daemon.builds[0]


def test_a_failed_build_shows_the_last_lines_and_names_the_log(root: Path, daemon: Daemon) -> None:
    daemon.build_log = "\n".join([*(f"line {number}" for number in range(100)), "#9 ERROR: exit code: 101"])
    with pytest.raises(ImageBuildFailed) as caught:
        ensure(root, spec())
    assert "exit code: 101" in caught.value.what
    assert "line 10\n" not in caught.value.what
    assert str(root / "logs") in caught.value.fix


def test_a_wrong_pin_is_told_as_pinned_and_found_and_not_as_the_script_that_checks(
    root: Path, daemon: Daemon
) -> None:
    daemon.build_log = (
        '#7 0.1 echo "forge-bench: pin mismatch: $1 is $2, pinned $3"\n'
        "#7 60.2 forge-bench: pin mismatch: rust is 1.97.1, pinned 1.96.0\n"
        "#7 ERROR: exit code: 1"
    )
    with pytest.raises(PinMismatch) as caught:
        ensure(root, spec())
    assert caught.value.why == "rust is 1.97.1, pinned 1.96.0"
    assert "toolchains.trixie" in caught.value.fix


NOT_SERVED = (
    '#8 0.1 echo "forge-bench: not served: $name $version $architecture" >&2\n'
    "#8 9.2 forge-bench: not served: libc6 2.41-12 amd64\n"
    "#8 ERROR: exit code: 1"
)


def served(version: str, checksum: str, *, name: str = "libc6") -> str:
    return f"'{TOOLCHAIN.mirror}/pool/{name}.deb' {name}_{version}_amd64.deb 1 SHA256:{checksum * 64}\n"


@pytest.mark.parametrize(
    ("target", "kinds", "builders"),
    [
        ("core", ["image"], ["tools"]),
        ("peers", ["image"], ["tools", "cpp"]),
        ("allocators", ["image"], ["tools", "cpp"]),
        ("edge", [], ["tools"]),
        ("compile", ["image", "compile"], ["tools"]),
    ],
)
@pytest.mark.usefixtures("daemon")
def test_an_image_needs_the_locks_of_what_is_in_it_and_of_what_builds_it(
    target: str, kinds: list[str], builders: list[str]
) -> None:
    wanted = [*((kind, "arm64") for kind in kinds), *((kind, "amd64") for kind in builders)]
    assert build.locks_of(spec(target, "arm64")) == tuple(wanted)


def test_packages_that_are_no_longer_served_are_named_with_what_is_served_instead(
    root: Path, daemon: Daemon
) -> None:
    daemon.build_log, daemon.served = NOT_SERVED, served("2.41-13", "b")
    with pytest.raises(PackagesDrifted) as caught:
        ensure(root, spec())
    assert caught.value.exit_code == 11
    assert "2 locked packages" in caught.value.what
    assert "image-amd64: libc6: 2.41-12 -> 2.41-13" in caught.value.what
    assert "snapshot.debian.org/archive/debian/20261121T000000Z" in caught.value.why
    assert "python -m runner lock" in caught.value.fix


def test_a_mirror_that_serves_what_is_locked_and_did_not_deliver_is_no_drift(
    root: Path, daemon: Daemon
) -> None:
    daemon.build_log, daemon.served = NOT_SERVED, served("2.41-12", "a")
    with pytest.raises(ImageBuildFailed):
        ensure(root, spec())


def test_a_mirror_that_cannot_be_asked_is_called_out_of_reach_and_not_drifted(
    root: Path, daemon: Daemon
) -> None:
    daemon.build_log = NOT_SERVED
    with pytest.raises(MirrorUnreachable) as caught:
        ensure(root, spec())
    assert "deb.debian.org" in caught.value.what


def lose_the_lock(root: Path) -> None:
    lock_file(root, TOOLCHAIN.name, "image", "amd64").unlink()


def ask_for_more(root: Path) -> None:
    (root / "docker" / "packages.txt").write_text("libc6\nvim\n", encoding="utf-8")


@pytest.mark.parametrize("change", [lose_the_lock, ask_for_more])
def test_nothing_is_built_from_packages_that_are_not_locked(
    root: Path, daemon: Daemon, change: Callable[[Path], None]
) -> None:
    change(root)
    with pytest.raises(PackagesDrifted, match="image-amd64"):
        ensure(root, spec())
    assert daemon.builds == []


def test_an_image_of_a_day_stands_on_a_base_of_that_day() -> None:
    dated = replace(TOOLCHAIN, snapshot="20261101T000000Z")
    assert "20261101T000000Z" in base.base_tag(dated)
    assert base.base_tag(dated) != base.base_tag(TOOLCHAIN)


def test_a_missing_base_names_everything_that_was_tried(
    root: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.images.clear()

    monkeypatch.setattr(base.shutil, "which", lambda _: None)
    toolchain = Toolchain(
        name="trixie", suite="trixie", rust="1", python="3", pytorch="2", base="debian@sha256:" + "0" * 64
    )
    with pytest.raises(ImageBuildFailed) as caught:
        base.ensure_base(toolchain, log_directory=root, say=lambda _: None)
    for tried in ("no local image", "pulling debian@sha256", "no mmdebstrap"):
        assert tried in caught.value.why
    # Setup installs no mmdebstrap for a base that is to be pulled.
    assert "make setup" not in caught.value.fix
    assert "docker pull debian@sha256" in caught.value.fix


@pytest.mark.parametrize(
    ("digests", "registrys"),
    [
        ([], None),
        # As Docker's containerd store has it for an image that was only ever built.
        (["forge-bench@sha256:1"], None),
        (["forge-bench@sha256:1", "registry.example/forge-bench@sha256:1"], "sha256:1"),
        (["localhost:5000/forge-bench@sha256:2"], "sha256:2"),
    ],
)
def test_an_image_that_was_only_built_has_no_digest_of_a_registry(
    digests: list[str], registrys: str | None
) -> None:
    assert inspected.manifest_digest_of({"Id": "sha256:1", "RepoDigests": digests}) == registrys
