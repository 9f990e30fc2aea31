"""``clean`` on a daemon of the tests' own, that holds things of ours and things of others."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Result
from own_daemon import WHY_NOT, OwnDaemon, ending, hanging, own_daemon, possible

from runner.executors.sweep import DEADLINE_LABEL, OWNER_LABEL
from runner.records.store import Store
from runner.system.owner import Owner

# Ours as the real one builds: a step that executes what lies in /forge/, and layers on top of nothing.
OURS = """FROM forge-bench-base:trixie-test AS tools
COPY tools.sh /forge/
RUN --mount=type=cache,id=forge-bench-debs,target=/debs ["/forge/tools.sh"]
COPY large /large
FROM scratch
COPY --from=tools /large /large
COPY tools.sh /usr/bin/python3
LABEL forge-bench.identity=0 forge-bench.target=core
"""
# Somebody else's, on top of ours: it inherits our labels.
THEIRS = """FROM forge-bench:core-test
COPY tools.sh /theirs
RUN --mount=type=cache,id=theirs,target=/debs ["/theirs"]
COPY large /theirs-too
"""


@pytest.fixture
def daemon() -> Iterator[OwnDaemon]:
    if not possible():
        pytest.skip(WHY_NOT)
    with own_daemon() as own:
        yield own


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A store with something of every kind, and somebody's own files in the same folders."""
    root = tmp_path / "results"
    for path in (
        "inputs/" + "a" * 64 + "/n=4/x.npy",
        "references/" + "b" * 64 + "/n=4/y.npy",
        "probes/" + "c" * 64 + ".json",
        "logs/gae-rust.log",
        "records/gae/20260101T000000000000Z-0123456789abcdef.json",
        "tables/smoke/overview.md",
        "inputs/mine.txt",
        "notes.txt",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("{}", encoding="utf-8")
    return root


def clean(daemon: OwnDaemon | None, results: Path, *arguments: str) -> Result:
    """The command as a user calls it, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "runner", "clean", *arguments, "--results", str(results)],
        cwd=ROOT, env=os.environ if daemon is None else dict(daemon.environment), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def build(daemon: OwnDaemon, directory: Path, dockerfile: str, tag: str) -> None:
    directory.mkdir()
    (directory / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    (directory / "tools.sh").write_bytes(ending())
    (directory / "tools.sh").chmod(0o755)
    (directory / "large").write_bytes(tag.encode() * 100_000)
    done = daemon.docker("buildx", "build", "--network", "none", "--tag", tag, str(directory))
    assert done.returncode == 0, done.stderr


def images(daemon: OwnDaemon) -> set[str]:
    listed = daemon.docker("image", "ls", "--all", "--format", "{{.Repository}}:{{.Tag}}").stdout
    return set(listed.split())


def commands_in_cache(daemon: OwnDaemon) -> list[str]:
    """What the steps executed that the build cache still holds."""
    listed = daemon.docker("buildx", "du", "--verbose").stdout
    return [
        line.partition("exec ")[2]
        for line in listed.splitlines()
        if "Description:" in line and "exec " in line
    ]


def containers(daemon: OwnDaemon) -> set[str]:
    return set(daemon.docker("ps", "--all", "--format", "{{.Names}}").stdout.split())


def dead() -> Owner:
    """A process of this boot and this process table that has ended."""
    program = "from runner.system.owner import Owner; print(Owner.current())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    owner = Owner.named_in(done.stdout)
    assert owner is not None
    return owner


@pytest.fixture
def populated(daemon: OwnDaemon, tmp_path: Path) -> OwnDaemon:
    """Ours: a base, a build, an earlier one without a name. Others': an image on top of ours, one beside, containers."""
    daemon.import_image("forge-bench-base:trixie-test", {"bin/true": ending(), "bin/hang": hanging()})
    daemon.import_image("beside:1", {"bin/hang": hanging()})
    build(daemon, tmp_path / "earlier", OURS, "forge-bench:core-test")
    build(daemon, tmp_path / "ours", OURS.replace("identity=0", "identity=1"), "forge-bench:core-test")
    build(daemon, tmp_path / "theirs", THEIRS, "theirs:1")
    daemon.docker("tag", "forge-bench:core-test", "forge-bench:latest")
    for name, labels in {
        "of-the-dead": (f"{OWNER_LABEL}={dead()}", f"{DEADLINE_LABEL}=60"),
        "of-the-living": (f"{OWNER_LABEL}={Owner.current()}", f"{DEADLINE_LABEL}=60"),
        "of-others": ("other=1",),
    }.items():
        words = [word for label in labels for word in ("--label", label)]
        done = daemon.docker("create", "--network", "none", "--name", name, *words, "beside:1", "/bin/hang")
        assert done.returncode == 0, done.stderr
    return daemon


def test_ours_goes_and_what_is_somebody_elses_stays(populated, results):
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    listed = clean(populated, results, "--dry-run")
    assert listed.returncode == 0, listed.stderr
    for word in ("forge-bench:core-test", "forge-bench:latest", "forge-bench-base:trixie-test", "earlier builds",
                 "steps of forge-bench builds", "inputs", "references", "1 records and their tables",
                 "theirs:1: a foreign name", "1 containers: their runner is at work"):  # fmt: skip
        assert word in listed.stdout, listed.stdout
    assert "beside" not in listed.stdout
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before
    assert {"forge-bench:core-test", "theirs:1"} <= images(populated), "a dry run removes nothing"
    assert any("/forge/tools.sh" in command for command in commands_in_cache(populated))

    done = clean(populated, results, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    left = images(populated)
    assert {"theirs:1", "beside:1"} <= left
    assert not any(name.startswith("forge-bench") for name in left), left
    assert containers(populated) == {"of-the-living", "of-others"}
    commands = commands_in_cache(populated)
    assert not any("/forge/" in command for command in commands), commands
    assert any("/theirs" in command for command in commands), "another project's build is still cached"
    # The image on top of ours still works, though ours has lost its name.
    ran = populated.docker("run", "--rm", "--network", "none", "theirs:1", "/theirs")
    assert ran.returncode == 0, ran.stderr

    names = {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}
    assert names == {
        "inputs/mine.txt",
        "notes.txt",
        "records/gae/20260101T000000000000Z-0123456789abcdef.json",
        "tables/smoke/overview.md",
    }
    again = clean(populated, results, "--dry-run")
    assert "forge-bench:" not in again.stdout
    assert "images: nothing to remove" in again.stdout


def test_an_image_that_a_container_uses_stays_and_is_named(daemon, results):
    daemon.import_image("forge-bench:core-test", {"bin/hang": hanging()})
    daemon.docker("create", "--network", "none", "--name", "user", "forge-bench:core-test", "/bin/hang")
    done = clean(daemon, results, "images", "--yes")
    assert done.returncode == 0, done.stderr
    assert "not removed: forge-bench:core-test" in done.stdout
    assert "container" in done.stdout
    assert "forge-bench:core-test" in images(daemon)
    assert containers(daemon) == {"user"}


def test_without_a_terminal_and_without_yes_nothing_is_removed(results):
    before = set(results.rglob("*"))
    done = clean(None, results, "results")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert "Traceback" not in done.stderr
    assert set(results.rglob("*")) == before


@pytest.mark.parametrize(
    ("answer", "goes"), [(b"y\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)]
)
def test_on_a_terminal_it_asks(results, answer, goes):
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", "clean", "results", "--results", str(results)],
        cwd=ROOT, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    os.write(terminal, answer)
    out, err = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 0, err
    assert b"remove all of this?" in err
    assert (results / "references").exists() is not goes
    assert (b"nothing was removed" in out) is not goes


def test_records_go_only_when_they_are_named(results):
    done = clean(None, results, "results", "--records", "--yes")
    assert done.returncode == 0, done.stderr
    names = {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}
    assert names == {"inputs/mine.txt", "notes.txt"}


def test_a_directory_that_is_no_store_loses_nothing(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "mine.log").write_text("mine", encoding="utf-8")
    done = clean(None, tmp_path, "results", "--records", "--yes")
    assert "results: nothing to remove" in done.stdout
    assert (tmp_path / "logs" / "mine.log").exists()


def test_a_link_in_a_store_is_not_followed(results, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "x").write_text("x", encoding="utf-8")
    (results / "inputs" / ("d" * 64)).symlink_to(precious)
    shutil.rmtree(results / "references")
    (results / "references").symlink_to(precious)
    assert clean(None, results, "results", "--yes").returncode == 0
    assert (precious / "x").exists()


def test_without_a_daemon_the_results_are_cleaned_and_the_rest_is_said_to_be_unknown(results):
    environment = {**os.environ, "DOCKER_HOST": "unix:///nonexistent"}
    command = [sys.executable, "-m", "runner", "clean", "--results", str(results)]
    done = subprocess.run(
        [*command, "--yes"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "not looked at: no Docker daemon answers" in done.stdout
    assert not (results / "references").exists()
    asked = subprocess.run(
        [*command, "images", "--yes"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 5, "what was asked for by name could not be done"
    assert Store(results).records_directory.exists()
