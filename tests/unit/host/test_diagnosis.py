"""Why a build failed, from what it printed. The lines are those of real builds."""

from pathlib import Path

import pytest

from runner.images.diagnosis import diagnose
from runner.system.errors import DockerUnavailable, MirrorUnreachable, NoSpace

LOG = Path("/logs/build-core-amd64.log")

UNREACHABLE = {
    "apt, no name": (
        "#9 10.2 W: Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  "
        "Temporary failure resolving 'deb.debian.org'",
        "deb.debian.org",
    ),
    "apt, no route": (
        "#9 10.2 E: Failed to fetch http://deb.debian.org/debian/pool/main/r/x.deb  Could not connect to "
        "deb.debian.org:80 (151.101.2.132), connection timed out",
        "deb.debian.org",
    ),
    "pip": (
        "#9 4.1 WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(': Failed to establish "
        "a new connection: [Errno -3] Temporary failure in name resolution')': /simple/uv/",
        "a package server",
    ),
    "cargo": (
        "#12 3.0   [6] Couldn't resolve host name (Could not resolve host: index.crates.io)",
        "index.crates.io",
    ),
    "uv": (
        "#14 1.0   Caused by: error sending request for url (https://pypi.org/simple/numpy/)",
        "pypi.org",
    ),
    "registry": (
        '#2 ERROR: failed to do request: Head "https://registry-1.docker.io/v2/": dial tcp: lookup '
        "registry-1.docker.io: no such host",
        "registry-1.docker.io",
    ),
    "mmdebstrap": (
        "E: apt-get update failed\nErr:1 http://deb.debian.org/debian trixie InRelease\n"
        "  Could not resolve 'deb.debian.org'",
        "deb.debian.org",
    ),
}


@pytest.mark.parametrize("tool", UNREACHABLE)
def test_a_server_out_of_reach_is_named(tool):
    line, server = UNREACHABLE[tool]
    error = diagnose(f"#8 DONE 0.1s\n{line}\n#9 ERROR: exit code: 100", what="building x", log=LOG)
    assert type(error) is MirrorUnreachable
    assert error.what == f"building x: {server} could not be reached"
    assert "#9" not in error.why
    assert str(LOG) in error.fix


@pytest.mark.parametrize(
    "line",
    [
        "#9 3.3 E: Failed to fetch http://deb.debian.org/debian/pool/x.deb  404  Not Found [IP: 151.101.2.132 80]",
        "E: The repository 'http://deb.debian.org/debian nosuch Release' does not have a Release file.",
    ],
)
def test_a_mirror_that_does_not_have_it_is_told_apart_from_one_out_of_reach(line):
    error = diagnose(line, what="building x", log=LOG)
    assert type(error) is MirrorUnreachable
    assert error.what == "building x: deb.debian.org does not have what was asked for"


@pytest.mark.parametrize(
    "line",
    [
        "#11 9.0 dpkg-deb: error: failed to write (No space left on device)",
        "#2 ERROR: write /var/lib/docker/tmp/x: no space left on device",
    ],
)
def test_a_full_disk_comes_before_everything_that_follows_from_it(line):
    error = diagnose(f"{line}\n#12 Could not resolve 'deb.debian.org'", what="building x", log=LOG)
    assert type(error) is NoSpace


def test_a_daemon_that_goes_while_it_builds_is_a_lost_connection():
    text = "#9 x\nERROR: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF"
    error = diagnose(text, what="building x", log=LOG)
    assert type(error) is DockerUnavailable
    assert "run again" in error.fix


@pytest.mark.parametrize(
    "text",
    ["", "#9 ERROR: exit code: 101", "error[E0433]: failed to resolve: use of undeclared crate `connection`"],
)
def test_a_mistake_of_ours_is_no_fault_of_the_host(text):
    assert diagnose(text, what="building x", log=LOG) is None
