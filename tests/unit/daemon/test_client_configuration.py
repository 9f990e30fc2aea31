"""The configuration of Docker's client: what the library stumbles over is refused by name, and nothing of it leaks."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from runner.daemon.client_configuration import require_client_configuration
from runner.executors.containers import create_container, require_environment
from runner.matrix import Limits
from runner.system.errors import ClientMisconfigured

LIMITS = Limits(name="one", cpus=1, memory_bytes=2**30, pids=64, threads=1)


@pytest.fixture
def configure(tmp_path, monkeypatch):
    def write(content: Any) -> None:
        (tmp_path / "config.json").write_text(json.dumps(content), encoding="utf-8")
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))

    return write


@pytest.mark.parametrize(
    "content",
    [
        [],
        None,
        {"proxies": None},
        {"proxies": []},
        {"proxies": {"default": "x"}},
        {"proxies": {"default": {"httpProxy": 5}}},
        {"HttpHeaders": [1]},
        {"auths": {"registry": 5}},
        {"auths": 5},
    ],
)
def test_a_configuration_that_the_library_cannot_use_is_named(configure, tmp_path, content):
    configure(content)
    with pytest.raises(ClientMisconfigured) as raised:
        require_client_configuration()
    assert str(tmp_path / "config.json") in raised.value.what


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"auths": {"registry": {"auth": "dTpw"}}, "credHelpers": {}, "HttpHeaders": {"X": "y"}},
        {"proxies": {"default": {"httpProxy": "http://user:password@proxy", "noProxy": "localhost"}}},
        {"currentContext": "other", "plugins": {}, "detachKeys": "ctrl-x"},
    ],
)
def test_a_usual_configuration_is_used(configure, content):
    configure(content)
    require_client_configuration()


class Client:
    """A daemon whose containers get these variables."""

    def __init__(self, variables: list[str] | None) -> None:
        self.asked: dict[str, Any] = {}
        told = SimpleNamespace(attrs={"Config": {"Env": variables}})
        self.containers = SimpleNamespace(get=lambda _: told)
        self.api = SimpleNamespace(create_host_config=dict, create_container=self._create)

    def _create(self, _: str, **asked: Any) -> dict[str, str]:
        self.asked = asked
        return {"Id": "x"}


OURS = {"HOME": "/tmp", "LANG": "C.UTF-8"}


def create(client: Client) -> Any:
    container = create_container(
        client, image="x", command=["true"], name="x", labels={}, limits=LIMITS, cpuset=None, mounts=(),
        environment=OURS,
    )  # fmt: skip
    require_environment(container, ["PATH=/usr/bin", "LANG=C"], OURS)
    return container


EXACT = ["HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin"]


@pytest.mark.parametrize("added", [[], ["HOSTNAME=x", "container=podman", "TERM=xterm"]])
def test_a_container_has_the_variables_of_its_image_and_ours(added):
    client = Client([*EXACT, *added])
    assert create(client).attrs["Config"]["Env"]
    assert client.asked["use_config_proxy"] is False


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ([*EXACT, "HTTPS_PROXY=http://user:password@proxy"], "HTTPS_PROXY"),
        ([*EXACT, "LD_PRELOAD=/x.so"], "LD_PRELOAD"),
        (["HOME=/root", *EXACT[1:]], "HOME"),
        (EXACT[:2], "PATH"),
        (None, "HOME, LANG, PATH"),
    ],
)
def test_any_other_variable_of_a_container_is_an_error_that_names_it_without_its_value(variables, named):
    with pytest.raises(ClientMisconfigured) as raised:
        create(Client(variables))
    assert named in raised.value.why
    assert "password" not in str(raised.value)
