"""What a build's steps are told of the network."""

import pytest

from runner.images.network import network_arguments
from runner.matrix.toolchain import Toolchain

TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1", python="3", pytorch="2")
AT_HOME = Toolchain(**vars(TOOLCHAIN) | {"snapshot": "20261101T000000Z", "archive": "http://127.0.0.1:8000"})


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(each, raising=False)
        monkeypatch.delenv(each.upper(), raising=False)


def test_nothing_is_said_where_there_is_nothing_to_say() -> None:
    assert network_arguments(TOOLCHAIN) == []
    assert network_arguments(AT_HOME) == ["--network", "host"]


def test_a_proxy_is_named_and_its_address_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://alice:secret@proxy.example.com:3128")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    assert network_arguments(TOOLCHAIN) == ["--build-arg", "https_proxy", "--build-arg", "NO_PROXY"]


@pytest.mark.parametrize("address", ["http://localhost:3128", "127.0.0.1:3128", "http://[::1]:3128"])
def test_a_proxy_on_this_machine_takes_its_network(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", address)
    assert network_arguments(TOOLCHAIN) == ["--network", "host", "--build-arg", "HTTP_PROXY"]


def test_an_empty_proxy_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "")
    assert network_arguments(TOOLCHAIN) == []
