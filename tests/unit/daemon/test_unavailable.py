"""What the docker command line says, and what becomes of it. The texts are its own, of releases 20 to 29."""

import platform

import pytest

from runner.daemon.unavailable import (
    broken,
    command_for,
    in_one_line,
    is_connection_trouble,
    missing,
    silent,
    unavailable,
)
from runner.system.errors import DockerForbidden, DockerMissing, DockerUnavailable

SOCKET = "unix:///var/run/docker.sock"
STOPPED = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
NEWER = (
    "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct and if the "
    "daemon is running: dial unix /var/run/docker.sock: connect: no such file or directory"
)
FORBIDDEN = (
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
    'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/version": dial unix /var/run/docker.sock: connect: permission denied'
)
CRASHED = """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x58 pc=0x8c9f80]

goroutine 1 [running]:
github.com/docker/cli/vendor/github.com/docker/docker/client.(*Client).ClientVersion(0xc0002dec80?)
"""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("said", [STOPPED, NEWER])
def test_a_daemon_that_is_not_running_is_to_be_started(said):
    error = unavailable(said, SOCKET)
    assert type(error) is DockerUnavailable
    assert error.why == said
    assert " docker start" in error.fix or "start docker" in error.fix


def test_a_closed_socket_is_told_apart_from_a_daemon_that_is_not_running():
    error = unavailable(FORBIDDEN, SOCKET)
    assert type(error) is DockerForbidden
    assert "usermod -aG docker" in error.fix


def test_a_refusal_by_ssh_is_no_refusal_by_a_socket():
    error = unavailable("nobody@host: Permission denied (publickey).", "ssh://nobody@host")
    assert type(error) is DockerUnavailable
    assert "ssh://nobody@host" in error.fix


@pytest.mark.parametrize("name", ["DOCKER_HOST", "DOCKER_CONTEXT"])
def test_a_variable_that_names_a_daemon_is_named_with_its_value(name, monkeypatch):
    monkeypatch.setenv(name, "nonsense")
    error = unavailable("error during connect: no such host", "tcp://nonsense:2375")
    assert f"unset {name}" in error.fix
    assert "nonsense" in error.fix
    assert command_for(error, "tcp://nonsense:2375") == f"unset {name}"


@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("unix:///run/user/1000/docker.sock", "systemctl --user start docker"),
        ("tcp://build-host:2376", "docker context use default"),
        ("ssh://build-host", "docker context use default"),
    ],
)
def test_where_the_daemon_was_looked_for_decides_how_it_comes_back(address, command):
    assert command in unavailable(STOPPED, address).fix


# The default addresses of Docker Desktop on macOS and on Linux, of Colima, OrbStack and Rancher Desktop.
@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("unix:///Users/me/.docker/run/docker.sock", "open -a Docker"),
        ("unix:///home/me/.docker/desktop/docker.sock", "systemctl --user start docker-desktop"),
        ("unix:///Users/me/.colima/default/docker.sock", "colima start"),
        ("unix:///Users/me/.orbstack/run/docker.sock", "open -a OrbStack"),
        ("unix:///Users/me/.rd/docker.sock", "open -a 'Rancher Desktop'"),
    ],
)
def test_the_program_that_brings_a_daemon_is_started_by_its_own_command(address, command):
    said = f"Cannot connect to the Docker daemon at {address}. Is the docker daemon running?"
    error = unavailable(said)
    assert error.fix.startswith(f"start it: {command}, or run")
    assert command_for(error, address) == command


def test_inside_windows_the_switch_of_docker_desktop_is_named(monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "5.15.167.4-microsoft-standard-WSL2")
    for error in (unavailable(STOPPED, SOCKET), missing(FileNotFoundError())):
        assert "WSL integration" in error.fix


def test_every_way_of_having_no_docker_says_that_there_is_one_without():
    errors = [
        missing(FileNotFoundError()),
        missing(PermissionError(13, "Permission denied")),
        broken("hello"),
        silent(20),
        unavailable(STOPPED, SOCKET),
        unavailable(FORBIDDEN, SOCKET),
    ]
    for error in errors:
        assert "--executor local" in error.fix
        assert error.why


def test_no_command_and_a_broken_one_are_one_kind_with_their_own_words():
    absent, closed = missing(FileNotFoundError()), missing(PermissionError(13, "Permission denied"))
    assert type(absent) is type(closed) is type(broken("x")) is DockerMissing
    assert "no docker command" in absent.what
    assert closed.why == "Permission denied"
    assert "type -a docker" in closed.fix


def test_the_stack_of_a_docker_that_crashes_is_not_shown():
    why = unavailable(CRASHED, "fd://").why
    assert why == "panic: runtime error: invalid memory address or nil pointer dereference"


def test_a_docker_that_ends_in_silence_still_has_a_reason():
    assert unavailable("", SOCKET).why


def test_a_long_message_becomes_one_bounded_line():
    line = in_one_line("a\n" * 1000)
    assert "\n" not in line
    assert len(line) <= 300


@pytest.mark.parametrize(
    "said",
    [
        STOPPED,
        NEWER,
        FORBIDDEN,
        "error during connect: Get http://x: EOF",
        "ERROR: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF",
    ],
)
def test_trouble_with_the_connection_is_recognised(said):
    assert is_connection_trouble(said)


@pytest.mark.parametrize(
    "said", ["Error: No such image: forge-bench:core", "unauthorized: access denied", ""]
)
def test_what_a_daemon_answers_is_no_trouble_with_the_connection(said):
    assert not is_connection_trouble(said)
