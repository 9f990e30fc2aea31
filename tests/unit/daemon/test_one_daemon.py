"""Each call of the docker command line names the daemon that was found first, whatever context is in use by then."""

import ast
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.daemon import docker_command
from runner.daemon.endpoint import Endpoint, current_endpoint
from runner.daemon.information import information, require_daemon
from runner.images import reference

RUNNER = Path(__file__).parents[3] / "runner"
VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
# As docker does, it goes by DOCKER_HOST, else by DOCKER_CONTEXT, else by the context in use; it notes each call.
PROGRAM = """#!/bin/sh
here=$(dirname "$0")
name=${DOCKER_CONTEXT:-$(cat "$here/in_use")}
[ -n "$DOCKER_HOST" ] && name=default
host=${DOCKER_HOST:-$(cat "$here/$name.host")}
printf '%s|%s|%s|%s\\n' "$host" "$name" "${DOCKER_TLS_VERIFY}" "$*" >> "$here/calls"
case "$1 $2" in
"context inspect") cat "$here/$name.json";;
"version --format") echo 28.2.2;;
"--version ") echo Docker version 28.2.2, build e6534b4;;
*) echo '[]';;
esac
"""
CALLS: dict[str, Callable[[], object]] = {
    "any": lambda: docker_command.docker("pull", "x"),
    "images": lambda: docker_command.inspect_images(["x"]),
    "one image": lambda: reference.inspect("x"),
    "a label": lambda: reference.with_label("a", "b"),
    "information": information,
    "the daemon": require_daemon,
}


class Contexts:
    """What is known of daemons on a machine, and what a docker command was called for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").write_text(PROGRAM, encoding="utf-8")
        (folder / "docker").chmod(0o755)

    def define(self, name: str, host: str, *, tls: bool = False, skip: bool = False) -> None:
        """A context, as ``docker context inspect`` prints it."""
        (self.folder / f"{name}.host").write_text(host, encoding="utf-8")
        found = {
            "Name": name,
            "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": skip}},
            "TLSMaterial": {"docker": ["ca.pem"]} if tls else {},
            "Storage": {"TLSPath": str(self.folder)},
        }
        (self.folder / f"{name}.json").write_text(json.dumps([found]), encoding="utf-8")

    def use(self, name: str) -> None:
        """``docker context use``."""
        (self.folder / "in_use").write_text(name, encoding="utf-8")

    def calls(self) -> list[list[str]]:
        """The address, the context, the demand for TLS and the words of each call since the last question."""
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.unlink()
        return [line.split("|") for line in lines]


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Contexts]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = Contexts(tmp_path)
    found.define("default", "unix:///default.sock")
    found.define("rack", "tcp://rack:2375")
    found.define("vault", "tcp://vault:2376", tls=True)
    found.define("other", "tcp://other:2375")
    current_endpoint.cache_clear()
    yield found
    current_endpoint.cache_clear()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("first", ["default", "rack", "vault"])
def test_a_context_that_is_used_in_mid_run_moves_no_call(contexts, first, call):
    contexts.use(first)
    host = current_endpoint().host
    contexts.use("other")
    contexts.calls()
    call()
    # For its own version the program asks nobody.
    asked = [each for each in contexts.calls() if each[3] != "--version"]
    assert asked
    assert {each[0] for each in asked} == {host}


@pytest.mark.parametrize("variable", ["DOCKER_HOST", "DOCKER_CONTEXT"])
def test_a_variable_that_is_set_in_mid_run_moves_no_call_either(contexts, monkeypatch, variable):
    contexts.use("default")
    current_endpoint()
    monkeypatch.setenv(variable, "other" if variable == "DOCKER_CONTEXT" else "tcp://other:2375")
    contexts.calls()
    docker_command.docker("image", "ls")
    assert [each[0] for each in contexts.calls()] == ["unix:///default.sock"]


def test_a_context_that_is_altered_in_mid_run_moves_no_call(contexts):
    contexts.use("rack")
    current_endpoint()
    contexts.define("rack", "tcp://other:2375")
    contexts.calls()
    docker_command.docker("image", "ls")
    assert [each[0] for each in contexts.calls()] == ["tcp://rack:2375"]


def test_the_first_call_asks_which_daemon_is_meant_and_the_others_do_not(contexts):
    contexts.use("rack")
    docker_command.docker("image", "ls")
    docker_command.docker("image", "ls")
    assert [each[3] for each in contexts.calls()] == ["context inspect", "image ls", "image ls"]


def test_the_default_daemon_keeps_the_certificates_that_variables_name(contexts, monkeypatch):
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    for name, kept in (("default", "1"), ("rack", "")):
        contexts.use(name)
        current_endpoint.cache_clear()
        docker_command.docker("image", "ls")
        assert contexts.calls()[-1][2] == kept, name


@pytest.mark.parametrize(
    ("found", "variables", "builder"),
    [
        ({"context": "default"}, {"DOCKER_HOST": "tcp://a:1"}, "default"),
        ({"context": "rack"}, {"DOCKER_HOST": "tcp://a:1"}, "default"),
        ({"context": "rack", "tls": Path("/tls")}, {"DOCKER_CONTEXT": "rack"}, "rack"),
        ({"context": "rack", "verify": False}, {"DOCKER_CONTEXT": "rack"}, "rack"),
    ],
)
def test_the_builder_is_that_of_the_daemon_which_the_variables_name(
    found: dict[str, Any], variables, builder
):
    endpoint = Endpoint(host="tcp://a:1", **found)
    before = {"HOME": "/me", "DOCKER_HOST": "tcp://b:2", "DOCKER_CONTEXT": "b"}
    assert endpoint.environment(before) == {"HOME": "/me", **variables}
    assert endpoint.builder == builder


def _calls_of(name: str) -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(RUNNER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield path, node


def test_only_what_no_daemon_is_asked_is_called_without_its_address():
    found = {
        tuple(word.value for word in call.args if isinstance(word, ast.Constant))
        for path, call in _calls_of("call_client")
        if path != RUNNER / "daemon" / "docker_command.py"
    }
    assert found == {("--version",), ("context", "inspect"), ("buildx", "version")}


def test_no_other_module_starts_a_docker_program():
    lists = {
        path.relative_to(RUNNER).as_posix()
        for path in RUNNER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List | ast.Tuple)
        and isinstance(node.ctx, ast.Load)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "docker"
    }
    assert "daemon/client.py" in lists
    assert {path for path in lists if "subprocess" in (RUNNER / path).read_text()} == {"daemon/client.py"}
