"""An image of somebody else's: known by its own files alone, built from exactly those, and held to our limits."""

import errno
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.daemon import docker_command as command
from runner.daemon.endpoint import Endpoint
from runner.images import base, build, their_build
from runner.images.identity import identify
from runner.images.spec import Image, ImageSpec
from runner.matrix.images import CORE, ImageTarget, TheirDockerfile, TheirImage
from runner.matrix.toolchain import Toolchain
from runner.system import machine
from runner.system.errors import EmulationMissing, ImageBuildFailed, ImageNotFound, NoSpace

TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0")
CHECKOUT = Path("/there is no checkout")
REFERENCE = "registry.example/theirs@sha256:" + "0" * 64


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / "src").mkdir(parents=True)
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nCOPY . /\n")
    (folder / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o700)
    (folder / "link").symlink_to("src/main.c")
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_text("1")
    return folder


def spec_of(source: TheirDockerfile | TheirImage | None, **more: Any) -> ImageSpec:
    target = ImageTarget(name="theirs", source=source, **more)
    return ImageSpec(target=target, architecture="amd64", toolchain=TOOLCHAIN)


def spec(context: Path, **more: Any) -> ImageSpec:
    return spec_of(TheirDockerfile(dockerfile=context / "Dockerfile", context=context), **more)


def hash_of(context: Path) -> str:
    return identify(spec(context), CHECKOUT).execution_hash


def edit(path: Path, text: str = "changed") -> None:
    path.write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: edit(folder / "Dockerfile"),
        lambda folder: edit(folder / "src" / "main.c"),
        lambda folder: edit(folder / "new file"),
        lambda folder: (folder / "run.sh").chmod(0o600),
        lambda folder: (folder / "run.sh").rename(folder / "go.sh"),
        lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("run.sh")),
    ],
    ids=["dockerfile", "source", "another file", "executable bit", "name", "link"],
)
def test_every_file_of_their_context_is_part_of_its_identity(context, change):
    before = identify(spec(context), CHECKOUT)
    change(context)
    after = identify(spec(context), CHECKOUT)
    assert after.execution_hash != before.execution_hash
    assert after.identity != before.identity


def test_what_surrounds_their_files_is_no_part_of_it(context, tmp_path):
    before = hash_of(context)
    edit(context / ".git" / "index", "2")
    (context / "run.sh").chmod(0o755)
    edit(tmp_path / "beside it")
    assert hash_of(context) == before
    assert hash_of(context.rename(tmp_path / "moved")) == before


def test_a_dockerfile_beside_its_context_counts_too(context, tmp_path):
    apart = TheirDockerfile(dockerfile=tmp_path / "Dockerfile", context=context)
    edit(apart.dockerfile, "FROM scratch\n")
    before = identify(spec_of(apart), CHECKOUT)
    edit(apart.dockerfile, "FROM scratch\nCOPY run.sh /\n")
    assert identify(spec_of(apart), CHECKOUT) != before


def test_an_image_of_a_registry_is_known_by_its_digest():
    one, other = (
        identify(spec_of(TheirImage(reference=each)), CHECKOUT)
        for each in (REFERENCE, REFERENCE.replace("0", "1"))
    )
    assert one.execution_hash != other.execution_hash


def test_another_way_to_ask_for_versions_asks_anew_and_runs_nothing_again(context):
    before, after = (identify(spec(context, versions=each), CHECKOUT) for each in (None, ("/x", "--version")))
    assert after.identity != before.identity
    assert after.execution_hash == before.execution_hash


def test_a_file_that_cannot_be_read_is_named(context):
    (context / "Dockerfile").unlink()
    with pytest.raises(ImageBuildFailed) as caught:
        hash_of(context)
    assert str(context / "Dockerfile") in caught.value.why


def test_of_an_image_that_only_a_record_names_nobody_says_what_it_is_built_from():
    with pytest.raises(ImageNotFound, match="nothing here says what the image theirs is built from"):
        identify(spec_of(None), CHECKOUT)


# --- builds ---------------------------------------------------------------------------------------------------------


class Daemon:
    """A daemon that holds a base, and builds whatever it is given."""

    def __init__(self) -> None:
        self.images: dict[str, dict[str, Any]] = {}
        self.build: tuple[str, ...] = ()
        self.files: dict[str, tuple[int, str]] = {}
        self.dockerfile = ""
        self.failing = ""
        self.made: dict[str, Any] = {"Architecture": "amd64", "Config": {}}

    def __call__(
        self, *arguments: str, log: Path | None = None, **_at: Any
    ) -> "subprocess.CompletedProcess[str]":
        code, output = 0, ""
        if arguments[:2] == ("image", "inspect"):
            here = [self.images[tag] for tag in arguments[2:] if tag in self.images]
            output, code = json.dumps(here), int(len(here) < len(arguments) - 2)
        elif arguments[:2] == ("buildx", "build"):
            assert log is not None
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(self.failing, encoding="utf-8")
            code = int(bool(self.failing))
            self.take(arguments)
        return subprocess.CompletedProcess(arguments, code, output, "")

    def take(self, arguments: tuple[str, ...]) -> None:
        self.build = arguments
        self.dockerfile = Path(self.after("--file")[0]).read_text()
        context = Path(arguments[-1])
        self.files = {
            str(path.relative_to(context)): (path.lstat().st_mode & 0o777, str(path.readlink()))
            if path.is_symlink()
            else (path.stat().st_mode & 0o777, path.read_text())
            for path in context.rglob("*")
            if path.is_symlink() or path.is_file()
        }
        labels = dict(each.split("=", 1) for each in self.after("--label"))
        for tag in self.after("--tag"):
            config = {**self.made["Config"], "Labels": labels}
            self.images[tag] = {**self.made, "Id": "sha256:0", "RepoTags": [tag], "Config": config}

    def after(self, option: str) -> list[str]:
        return [self.build[at + 1] for at, word in enumerate(self.build) if word == option]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Daemon:
    played = Daemon()
    tag = base.base_tag(TOOLCHAIN)
    played.images[tag] = {"RepoTags": [tag]}
    for module in (base, build, command):
        monkeypatch.setattr(module, "docker", played)
    monkeypatch.setattr(command, "current_endpoint", lambda: Endpoint(context="default", host="unix:///none"))
    monkeypatch.setattr(machine, "architecture", lambda: "amd64")
    return played


def ensure(wanted: ImageSpec, tmp_path: Path) -> Image:
    return build.ensure_image(wanted, root=CHECKOUT, log_directory=tmp_path / "logs", say=lambda _: None)


def test_their_dockerfile_builds_from_a_copy_of_what_is_hashed(context, daemon, tmp_path):
    image = ensure(spec(context), tmp_path)
    assert daemon.dockerfile == (context / "Dockerfile").read_text()
    assert daemon.files.keys() == {"Dockerfile", "src/main.c", "run.sh", "link"}
    assert daemon.files["run.sh"] == (0o755, "#!/bin/sh\n")
    assert daemon.files["src/main.c"][0] == 0o644
    assert daemon.files["link"][1] == "src/main.c"
    assert daemon.after("--platform") == ["linux/amd64"]
    assert f"BASE={base.base_tag(TOOLCHAIN)}" in daemon.after("--build-arg")
    assert not Path(daemon.build[-1]).exists()
    assert image.execution_hash == hash_of(context)


def test_their_image_has_a_tag_and_labels_like_ours_and_no_short_name(context, daemon, tmp_path):
    image = ensure(replace(spec(context), target=replace(spec(context).target, name="latest")), tmp_path)
    assert daemon.after("--tag") == ["forge-bench:latest-trixie-amd64"]
    assert set(daemon.after("--label")) == {
        "forge-bench.target=latest",
        f"forge-bench.identity={image.identity}",
        f"forge-bench.execution-hash={image.execution_hash}",
    }


def test_an_image_of_a_registry_becomes_one_with_a_tag_and_labels_too(daemon, tmp_path):
    ensure(spec_of(TheirImage(reference=REFERENCE)), tmp_path)
    assert daemon.dockerfile == f"FROM {REFERENCE}\n"
    assert daemon.files == {}
    assert daemon.after("--tag") == ["forge-bench:theirs-trixie-amd64"]


def test_an_unchanged_one_is_not_built_again(context, daemon, tmp_path):
    ensure(spec(context), tmp_path)
    assert ensure(spec(context), tmp_path).built_seconds is None
    edit(context / "run.sh")
    assert ensure(spec(context), tmp_path).built_seconds is not None


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"Architecture": "arm64", "Config": {}}, "is an image for arm64"),
        ({"Architecture": "amd64", "Config": {"Volumes": {"/data": {}}}}, "declares volumes: /data"),
    ],
)
def test_one_that_limits_or_platforms_would_not_hold_for_is_refused_each_time(
    context, daemon, tmp_path, made, said
):
    daemon.made = made
    for _ in range(2):
        with pytest.raises(ImageBuildFailed, match=said):
            ensure(spec(context), tmp_path)


def test_a_failed_build_of_theirs_is_no_fault_of_our_locks(context, daemon, tmp_path):
    daemon.failing = (
        "#8 1.0 forge-bench: not served: x 1 amd64\n#8 1.1 forge-bench: pin mismatch: a is b\n#8 ERROR: 1"
    )
    with pytest.raises(ImageBuildFailed) as caught:
        ensure(spec(context), tmp_path)
    assert type(caught.value) is ImageBuildFailed
    assert "#8 ERROR: 1" in caught.value.what
    assert "not of forge-bench" in caught.value.why


def test_their_image_needs_none_of_our_locks(context):
    assert build.locks_of(spec(context)) == ()
    assert build.locks_of(replace(spec(context), target=CORE)) != ()


def test_a_build_that_runs_programs_which_this_kernel_cannot_says_what_to_install(context, daemon, tmp_path):
    daemon.failing = "#8 0.3 exec /bin/sh: exec format error\n#8 ERROR: exit code: 1"
    with pytest.raises(EmulationMissing, match="arm64") as caught:
        ensure(replace(spec(context), architecture="arm64"), tmp_path)
    assert "runner setup" in caught.value.fix


def test_a_full_disk_is_no_fault_of_their_files(context, daemon, tmp_path, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "copy")

    monkeypatch.setattr(their_build.shutil, "copyfile", full)
    with pytest.raises(NoSpace):
        ensure(spec(context), tmp_path)
