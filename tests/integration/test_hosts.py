"""Every way in which a host can fail, made to happen: one typed error each, three lines, no traceback."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import FOREIGN, HOST, ROOT, Result, docker, forge_bench
from own_daemon import WHY_NOT, OwnDaemon, hanging, own_daemon, possible, printing

from runner.daemon.connection import connect
from runner.daemon.docker_command import builder
from runner.daemon.endpoint import current_endpoint
from runner.images.base import base_tag
from runner.images.build import ensure_image
from runner.images.identity import identify
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import CORE
from runner.system.errors import (
    BuildxMissing,
    DamagedRecord,
    DockerForbidden,
    DockerMissing,
    DockerUnavailable,
    EmulationMissing,
    ForgeBenchError,
    MirrorUnreachable,
    NoSpace,
    PinMismatch,
    StoreError,
)

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take something away from a host")
# Root may read everything; without its capabilities it is like anybody else.
POWERLESS = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all") if os.geteuid() == 0 else ()


def forge(
    *arguments: str, environment: Mapping[str, str] | None = None, before: tuple[str, ...] = ()
) -> Result:
    """``python -m runner`` with an environment of its own, started through ``before``."""
    return subprocess.run(
        [*before, sys.executable, "-m", "runner", *arguments],
        cwd=ROOT, env=None if environment is None else dict(environment),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """The smallest run there is, with results of its own: were nothing amiss, it would be over soon."""

    def call(*arguments: str, **how: Any) -> Result:
        where = ("--results", str(tmp_path / "results"))
        return forge("--profile", "smoke", "--only", "gae/numpy", "--arch", HOST, *where, *arguments, **how)

    return call


def ends(result: Result, error: type[ForgeBenchError], *needles: str) -> None:
    """The call ended in this error: its code, its three lines, no traceback, and these words."""
    assert result.returncode == error.exit_code, result.stdout + result.stderr
    said = result.stderr
    assert "Traceback" not in said
    assert re.search(
        r"^forge-bench: \S.*\n(?:    .*\n)*  why: \S.*\n(?:.*\n)*?  to do: \S", said, re.MULTILINE
    ), said
    for needle in needles:
        assert needle in said, said


def without(program: str, directory: Path) -> dict[str, str]:
    """This environment, in which every program can be found but one."""
    directory.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for path in Path(place).iterdir() if Path(place).is_dir() else ():
            if path.name != program:
                (directory / path.name).unlink(missing_ok=True)
                (directory / path.name).symlink_to(path)
    return {**os.environ, "PATH": str(directory)}


def instead(program: str, body: str, directory: Path) -> dict[str, str]:
    """This environment, with a program of this name that is another: a system goes past one that it cannot start."""
    environment = without(program, directory)
    path = directory / program
    path.write_text(body, encoding="utf-8")
    path.chmod(0o755)
    return environment


@pytest.fixture(scope="module")
def daemon() -> Iterator[OwnDaemon]:
    """A daemon of our own without a single image."""
    if not possible():
        pytest.skip(WHY_NOT)
    with own_daemon() as own:
        yield own


@pytest.fixture(scope="module")
def host_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """What a host without Docker can run of GAE, and what it said."""
    directory = tmp_path_factory.mktemp("host")
    environment = without("docker", directory / "bin")
    results = directory / "results"
    arguments = ("--executor", "local", "--profile", "smoke", "--only", "gae", "--results", str(results))
    return results, forge(*arguments, environment=environment)


def test_without_docker_the_host_runs_what_it_can_and_names_the_rest(host_results):
    results, outcome = host_results
    assert outcome.returncode == 0, outcome.stderr
    assert "left out: gae/rust" in outcome.stderr
    assert "left out: gae/torchrl" in outcome.stderr
    assert "has no module" in outcome.stderr
    assert {path.parent.name for path in results.glob("records/*/*.json")} == {"gae"}


def test_no_docker_command(run, tmp_path):
    result = run(environment=without("docker", tmp_path / "bin"))
    ends(result, DockerMissing, "there is no docker command", "apt-get install docker.io", "--executor local")


@pytest.mark.parametrize(
    "body",
    [
        "#!/bin/sh\nexit 3\n",
        "#!/bin/sh\necho I am a cat\n",
        "#!/no/such/interpreter\n",
        "#!/bin/sh\nkill -9 $$\n",
    ],
)
def test_a_docker_command_that_is_none(run, tmp_path, body):
    environment = instead("docker", body, tmp_path / "bin")
    ends(run(environment=environment), DockerMissing, "docker")


def test_a_docker_command_that_turns_to_rubbish_later(run, tmp_path):
    body = '#!/bin/sh\ncase "$1" in --version) echo Docker version 28.2.2;; *) printf "\\377{";; esac\n'
    ends(run(environment=instead("docker", body, tmp_path / "bin")), DockerUnavailable)


@pytest.mark.parametrize(
    "host", ["unix:///nonexistent", "unix:///etc/passwd", "tcp://[", "nonsense://x", "fd://"]
)
def test_an_address_where_no_daemon_can_be(run, host):
    result = run(environment={**os.environ, "DOCKER_HOST": host})
    ends(result, DockerUnavailable, "unset DOCKER_HOST", host, "--executor local")
    assert "goroutine" not in result.stderr


def test_a_context_that_does_not_exist(run):
    result = run(environment={**os.environ, "DOCKER_CONTEXT": "no-such-context"})
    ends(result, DockerUnavailable, "no-such-context", "unset DOCKER_CONTEXT")


def test_a_daemon_that_is_not_running(run):
    if not possible():
        pytest.skip(WHY_NOT)
    with own_daemon() as own:
        own.kill()
        ends(run(environment=own.environment), DockerUnavailable, "Is the docker daemon running")
        found = doctor("--only", "gae", environment=own.environment)
    assert state(found, "docker daemon") == "missing"
    assert found["exit_code"] == DockerUnavailable.exit_code


@ROOT_ONLY
def test_a_socket_that_this_user_may_not_open(daemon, run):
    daemon.socket.chmod(0)
    try:
        result = run(environment=daemon.environment, before=POWERLESS)
        found = doctor("--only", "gae", environment=daemon.environment, before=POWERLESS)
    finally:
        daemon.socket.chmod(0o660)
    ends(result, DockerForbidden, "usermod -aG docker $USER")
    assert state(found, "docker permission") == "missing"
    assert state(found, "docker daemon") == "skipped"


WITHOUT_BUILDX = """#!/bin/sh
if [ "$1" = buildx ]; then
    echo "docker: 'buildx' is not a docker command." >&2
    exit 1
fi
exec {docker} "$@"
"""


def test_docker_without_buildx(run, tmp_path):
    environment = instead("docker", WITHOUT_BUILDX.format(docker=shutil.which("docker")), tmp_path / "bin")
    ends(run(environment=environment), BuildxMissing, "docker buildx")


@ROOT_ONLY
def test_a_kernel_that_runs_nothing_foreign(tmp_path):
    # In a mount namespace of its own, the kernel's registrations are hidden by an empty directory.
    hidden = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs none /proc/sys/fs/binfmt_misc && exec "$@"',
        "sh",
    )
    where = ("--profile", "smoke", "--only", "gae/rust", "--results", str(tmp_path))
    result = forge("--arch", FOREIGN, *where, before=hidden)
    ends(result, EmulationMissing, f"emulation of {FOREIGN}", "systemd-binfmt")
    assert state(doctor("--arch", FOREIGN, *where, before=hidden), "emulation") == "missing"
    assert not [
        each
        for each in doctor("--arch", HOST, *where, before=hidden)["findings"]
        if "emulation" in each["check"]
    ]


@ROOT_ONLY
def test_a_mirror_out_of_reach_when_the_base_is_made(daemon, tmp_path):
    # No network at all: the daemon's socket is a file, and is still there.
    result = forge("build", "--only", "gae/rust", "--arch", HOST, "--results", str(tmp_path),
                   environment=daemon.environment, before=("unshare", "--net"))  # fmt: skip
    ends(result, MirrorUnreachable, "deb.debian.org could not be reached", str(tmp_path))


DOCKERFILE = """ARG BASE
FROM ${BASE} AS core
RUN apt-get update -qq -o Acquire::Retries=0 && apt-get install -qq -y hello
"""


def test_a_mirror_out_of_reach_in_the_middle_of_a_build_on_the_daemon_that_a_context_names(
    daemon, tmp_path, monkeypatch
):
    base = base_tag(toolchain())
    assert docker("image", "inspect", base).returncode == 0 or forge_bench("build").returncode == 0
    archive = tmp_path / "base.tar"
    assert docker("image", "save", "--output", str(archive), base).returncode == 0
    assert daemon.docker("image", "load", "--input", str(archive)).returncode == 0
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    for words in (("create", "own", "--docker", f"host={daemon.host}"), ("use", "own")):
        assert docker("context", *words).returncode == 0
    shutil.copytree(ROOT / "docker", tmp_path / "docker")
    (tmp_path / "docker" / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    spec = ImageSpec(target=CORE, architecture=HOST, toolchain=toolchain())
    current_endpoint.cache_clear()
    try:
        # This daemon's builds have a network that leads nowhere. Were another daemon asked, the build would succeed.
        with pytest.raises(MirrorUnreachable) as caught:
            ensure_image(spec, root=tmp_path, log_directory=tmp_path / "logs", say=lambda _: None)
        # By its address, which no context's alteration changes.
        assert (current_endpoint().host, builder()) == (daemon.host, "default")
    finally:
        current_endpoint.cache_clear()
    assert "deb.debian.org could not be reached" in caught.value.what


def test_the_sdk_speaks_to_the_daemon_that_a_context_names(daemon, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    for words in (("create", "own", "--docker", f"host={daemon.host}"), ("use", "own")):
        assert docker("context", *words).returncode == 0
    current_endpoint.cache_clear()
    try:
        _, information = connect(timeout=60)
    finally:
        current_endpoint.cache_clear()
    # Two daemons of one machine may share an identifier; where they keep their things they do not.
    root = daemon.docker("info", "--format", "{{.DockerRootDir}}").stdout.strip()
    assert information["DockerRootDir"] == root
    assert docker("--context", "default", "info", "--format", "{{.DockerRootDir}}").stdout.strip() != root


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root can take something away from a host")
    path = tmp_path / "tiny"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(path)], check=True)
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_where_results_go(tiny):
    result = forge(
        "--executor", "local", "--profile", "smoke", "--only", "gae/numpy", "--results", str(tiny / "r")
    )
    ends(result, NoSpace, "No space left on device", "--results")
    assert list(tiny.rglob("*.json")) == [], "no half record"


def test_a_full_disk_where_an_image_is_made(daemon, tiny, tmp_path):
    daemon.docker("image", "rm", base_tag(toolchain()))
    result = forge("build", "--only", "gae/rust", "--arch", HOST, "--results", str(tmp_path / "r"),
                   environment={**daemon.environment, "TMPDIR": str(tiny)})  # fmt: skip
    ends(result, NoSpace, "making the base", "clean")


def test_doctor_finds_the_full_disk_beforehand(tiny):
    found = doctor("--executor", "local", "--results", str(tiny / "r"))
    assert found["exit_code"] == NoSpace.exit_code
    (full,) = [each for each in found["findings"] if each["state"] == "missing"]
    assert str(tiny) in full["check"]
    assert f"df -h {tiny}" in full["commands"]


def test_a_results_directory_that_cannot_be_written(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    where = ("--executor", "local", "--results", str(closed / "r"))
    result = forge("--profile", "smoke", "--only", "gae/numpy", *where, before=POWERLESS)
    ends(result, StoreError, "cannot be written", "Permission denied", "--results")
    found = doctor(*where, before=POWERLESS)
    assert found["exit_code"] == StoreError.exit_code
    assert state(found, "results directory") == "missing"


def test_a_record_that_was_altered_by_one_digit(host_results, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(host_results[0], results)
    victim = sorted(results.glob("records/gae/*.json"))[0]
    text = victim.read_text()
    at = re.search(r'"wall_seconds": \d+\.\d*?([1-8])', text)
    assert at is not None
    victim.write_text(text[: at.start(1)] + str(int(at[1]) + 1) + text[at.end(1) :])
    where = ("--results", str(results))
    ends(forge("render", *where), DamagedRecord, victim.name, "altered")
    found = doctor("--executor", "local", *where)
    assert found["exit_code"] == DamagedRecord.exit_code
    assert f"rm {victim}" in json.dumps(found)


def test_pins_that_the_packages_do_not_serve_are_found_before_anything_is_built(
    daemon, tmp_path, shipped_matrix
):
    def edit(data: dict) -> None:
        data["toolchains"]["trixie"]["pytorch"] = "9.9.9"

    found = doctor("--matrix", str(shipped_matrix(edit)), environment=daemon.environment)
    assert state(found, "pins of trixie") == "missing", found
    (pins,) = [each for each in found["findings"] if each["check"] == "pins of trixie"]
    assert "pytorch 9.9.9" in pins["found"]
    assert pins["exit_code"] == PinMismatch.exit_code


def toolchain():
    return next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))


def stand_in(daemon: OwnDaemon, program: bytes) -> None:
    """An image under the name, and with the identity, of the core image; its python3 is this program."""
    spec = ImageSpec(target=CORE, architecture=HOST, toolchain=toolchain())
    identity = identify(spec, ROOT)
    labels = (f"LABEL forge-bench.identity={identity.identity}",)
    daemon.import_image(spec.tag, {"usr/bin/python3": program}, "ENV PATH=/usr/bin", *labels)
    for alias in (f"forge-bench:{HOST}", "forge-bench:latest"):
        daemon.docker("tag", spec.tag, alias)
    daemon.docker("tag", spec.tag, base_tag(toolchain()))


def test_an_image_that_holds_other_versions_than_the_matrix_pins(daemon, tmp_path):
    stand_in(daemon, printing({"rust": "1.0.0", "python": "3.13.5", "pytorch": "2.6.0"}))
    result = forge("--profile", "smoke", "--only", "gae/numpy", "--arch", HOST, "--results", str(tmp_path),
                   environment=daemon.environment)  # fmt: skip
    ends(result, PinMismatch, "rust is 1.0.0, pinned 1.96.0")


def test_a_daemon_that_dies_in_mid_run(tmp_path):
    if not possible():
        pytest.skip(WHY_NOT)
    with own_daemon() as own:
        stand_in(own, hanging())
        words = ["docker", "events", "--filter", "event=start", "--format", "{{.ID}}"]
        events = subprocess.Popen(words, env=own.environment, stdout=subprocess.PIPE)
        running = subprocess.Popen(
            [sys.executable, "-m", "runner", "--profile", "smoke", "--only", "gae/numpy", "--arch", HOST,
             "--results", str(tmp_path)],
            cwd=ROOT, env=own.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # A container that was started, or the run's own end, after which none is.
        ended = os.pidfd_open(running.pid)
        ready, _, _ = select.select([events.stdout, ended], [], [], 300)
        os.close(ended)
        assert events.stdout in ready, f"no container was started; exit code {running.poll()}"
        assert events.stdout.readline(), "docker events ended by itself"
        own.kill()
        out, err = running.communicate(timeout=120)
        events.kill()
        events.wait()
    ends(Result(running.args, running.returncode, out, err), DockerUnavailable, "connection", "run again")


def doctor(
    *arguments: str, environment: Mapping[str, str] | None = None, before: tuple[str, ...] = ()
) -> dict:
    """What doctor finds, as it prints it for programs."""
    result = forge("doctor", "--json", *arguments, environment=environment, before=before)
    assert "Traceback" not in result.stderr, result.stderr
    found = json.loads(result.stdout)
    assert found["exit_code"] == result.returncode
    return found


def state(found: dict, check: str) -> str:
    (state,) = [each["state"] for each in found["findings"] if each["check"].startswith(check)]
    return state


def test_doctor_finds_nothing_missing_on_a_host_that_works(images):
    found = doctor()
    assert found["exit_code"] == 0, yaml.safe_dump(found)
    states = {each["check"]: each["state"] for each in found["findings"]}
    assert states["docker daemon"] == states["docker buildx"] == states[f"emulation of {FOREIGN}"] == "ok"


def test_doctor_inside_the_image_looks_at_what_has_a_meaning_there(images):
    result = docker("run", "--rm", "--network", "none", "forge-bench", "doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "docker: not needed" in result.stdout
    assert "memory:" in result.stdout
    assert "docker daemon" not in result.stdout


@ROOT_ONLY
def test_fixing_what_nobody_but_the_user_can_fix_changes_nothing(tmp_path):
    result = forge(
        "doctor", "--fix", "--only", "gae", "--arch", HOST, environment=without("docker", tmp_path / "bin")
    )
    assert result.returncode == DockerMissing.exit_code, result.stdout + result.stderr
    assert "missing  docker command" in result.stdout
    assert "Traceback" not in result.stderr
