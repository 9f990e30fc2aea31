"""Which daemon is meant: what ``docker context inspect`` prints, and what becomes of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner.daemon import endpoint
from runner.daemon import information as daemon
from runner.system.errors import DockerMissing, DockerUnavailable

PLAIN = {
    "Name": "default",
    "Endpoints": {"docker": {"Host": "unix:///var/run/docker.sock", "SkipTLSVerify": False}},
    "TLSMaterial": {},
    "Storage": {"TLSPath": "<IN MEMORY>"},
}
REMOTE = {
    "Name": "rack",
    "Endpoints": {"docker": {"Host": "tcp://rack:2376", "SkipTLSVerify": True}},
    "TLSMaterial": {"docker": ["ca.pem", "cert.pem", "key.pem"]},
    "Storage": {"TLSPath": "/home/me/.docker/contexts/tls/abc"},
}


class Docker:
    """A docker command line that says what it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def __call__(
        self, *arguments: str, timeout: float | None = None, **_at: Any
    ) -> "subprocess.CompletedProcess[str]":
        assert timeout is not None, "a daemon that hangs must not hang us"
        code, out, err = self.answers[arguments[0].strip("-")]
        return subprocess.CompletedProcess(arguments, code, out, err)


@pytest.fixture
def say(monkeypatch):
    def play(**answers: Any) -> None:
        endpoint.current_endpoint.cache_clear()
        for module, name in ((endpoint, "call_client"), (daemon, "call_client"), (daemon, "docker")):
            monkeypatch.setattr(module, name, Docker(**answers))

    yield play
    endpoint.current_endpoint.cache_clear()


def test_the_default_context_is_a_local_socket(say):
    say(context=(0, json.dumps([PLAIN]), ""))
    found = endpoint.current_endpoint()
    assert (found.context, found.socket, found.tls) == ("default", Path("/var/run/docker.sock"), None)


def test_another_context_brings_its_address_its_builder_and_its_certificates(say):
    say(context=(0, json.dumps([REMOTE]), ""))
    found = endpoint.current_endpoint()
    assert (found.context, found.host, found.socket, found.verify) == ("rack", "tcp://rack:2376", None, False)
    assert found.tls == Path("/home/me/.docker/contexts/tls/abc/docker")


def test_a_context_that_is_not_there_is_no_daemon(say):
    say(context=(1, "", 'context "gone": context not found: open meta.json: no such file or directory'))
    with pytest.raises(DockerUnavailable) as caught:
        endpoint.current_endpoint()
    assert '"gone"' in caught.value.why


@pytest.mark.parametrize("printed", ["", "[]", "{}", "hello", "[1]", '[{"Name": 1}]', "null"])
def test_whatever_else_is_printed_there_is_an_error_and_no_crash(say, printed):
    say(context=(0, printed, ""))
    with pytest.raises(DockerUnavailable):
        endpoint.current_endpoint()


ANSWERS = {
    "version": (0, "20.10.24\n", ""),
    "context": (0, json.dumps([PLAIN]), ""),
}


def test_a_daemon_that_answers_is_where_it_was_looked_for(say, monkeypatch):
    monkeypatch.setattr(daemon, "require_client", lambda: "28.2.2")
    say(**ANSWERS)
    assert daemon.require_daemon().host == "unix:///var/run/docker.sock"


@pytest.mark.parametrize("answer", [(1, "", "Cannot connect"), (0, "hello", ""), (0, "", "")])
def test_a_daemon_that_says_no_version_is_none(say, monkeypatch, answer):
    monkeypatch.setattr(daemon, "require_client", lambda: "28.2.2")
    say(**{**ANSWERS, "version": answer})
    with pytest.raises(DockerUnavailable):
        daemon.require_daemon()


def test_the_command_line_is_known_by_its_version(say):
    say(version=(0, "Docker version 28.2.2, build e6534b4", ""))
    assert daemon.require_client() == "28.2.2"


@pytest.mark.parametrize("answer", [(3, "", ""), (0, "", ""), (0, "I am a cat", ""), (127, "", "not found")])
def test_a_program_that_only_bears_the_name_is_no_docker(say, answer):
    say(version=answer)
    with pytest.raises(DockerMissing):
        daemon.require_client()


# The last is what the client prints where no daemon answers.
@pytest.mark.parametrize(
    "printed", ["", "[]", "hello", '{"NCPU": 0, "MemTotal": 0, "ServerErrors": ["Cannot connect"]}']
)
def test_an_information_that_cannot_be_read_is_empty(say, printed):
    say(info=(0, printed, ""))
    assert daemon.information() == {}
