"""Asking a mirror, against a real server on loopback."""

import http.server
import lzma
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.host import mirror
from runner.host.mirror import ask

INDEX = """Package: rustc-web
Architecture: amd64
Version: 1.96.0+dfsg1-1~deb13u1+b1

Package: python3.13
Version: 3.13.5-2+deb13u5

Package: python3-torch
Version: 2.6.0+dfsg-7

Package: python3-torch-doc
Version: 9.9.9-1
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A mirror of one suite; its address."""
    index = tmp_path / "dists" / "trixie" / "main" / "binary-amd64" / "Packages.xz"
    index.parent.mkdir(parents=True)
    index.write_bytes(lzma.compress(INDEX.encode()))
    (tmp_path / "dists" / "trixie" / "Release").write_text("Suite: trixie\n")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, directory=str(tmp_path), **keywords)

        def log_message(self, *arguments):
            del arguments

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_a_mirror_that_answers_has_no_problem_and_its_index_is_not_read_unasked(served):
    found = ask(served, "trixie")
    assert (found.problem, found.served) == (None, None)


def test_the_upstream_versions_of_the_pinned_packages_are_read_and_no_others(served):
    found = ask(served, "trixie", architecture="amd64", python="3.13.5")
    assert found.problem is None
    assert found.served == {
        "rust": frozenset({"1.96.0"}),
        "python": frozenset({"3.13.5"}),
        "pytorch": frozenset({"2.6.0"}),
    }


def test_a_python_that_is_not_packaged_is_served_in_no_version(served):
    found = ask(served, "trixie", architecture="amd64", python="3.14.0")
    assert found.served is not None
    assert found.served["python"] == frozenset()


def test_a_suite_that_is_not_there_is_a_problem_with_the_answer_in_it(served):
    found = ask(served, "nosuch")
    assert found.problem is not None
    assert "404" in found.problem


def test_an_index_that_is_no_archive_is_a_problem_and_no_crash(served, tmp_path):
    (tmp_path / "dists/trixie/main/binary-amd64/Packages.xz").write_bytes(b"hello")
    found = ask(served, "trixie", architecture="amd64")
    assert found.problem is not None
    assert found.served is None


def test_a_server_that_refuses_is_a_problem():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = ask(f"http://127.0.0.1:{unused.getsockname()[1]}", "trixie")
    assert found.problem is not None
    assert "refused" in found.problem.lower()


def test_a_server_that_listens_and_says_nothing_costs_a_bounded_time(monkeypatch):
    monkeypatch.setattr(mirror, "_ANSWER_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        found = ask(f"http://127.0.0.1:{silent.getsockname()[1]}", "trixie")
    assert found.problem is not None


@pytest.mark.parametrize("url", ["nonsense", "http://", "http://[", "file:///nowhere", "http://a b"])
def test_an_address_that_cannot_be_is_a_problem_and_no_crash(url):
    assert ask(url, "trixie").problem is not None
