"""A real registry on loopback: fixtures of all integration tests."""

import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def registry_directory(tmp_path_factory) -> Path:
    """Where the registry lies, and keeps in data what was pushed to it."""
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="module")
def registry(registry_directory) -> Iterator[str]:
    """Debian's docker-registry on loopback: unpacked into a temporary directory, nothing is installed."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("needs root and apt for Debian's docker-registry")
    directory = registry_directory
    # apt lowers its privileges to a user that pytest's own directories shut out.
    package = subprocess.run(
        ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "docker-registry"],
        cwd=directory, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert package.returncode == 0, package.stderr
    subprocess.run(
        ["dpkg-deb", "--extract", *map(str, directory.glob("*.deb")), str(directory / "root")], check=True
    )
    configuration = directory / "config.yml"
    configuration.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {directory / 'data'}}}}}\n"
        "http: {addr: '127.0.0.1:0'}\nlog: {level: info, accesslog: {disabled: true}}\n"
    )
    process = subprocess.Popen(
        [str(directory / "root/usr/bin/docker-registry"), "serve", str(configuration)],
        stderr=subprocess.PIPE,
        text=True,
    )
    # Read to the end: a full pipe would stop the registry.
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_drain, args=(process, lines))
    reader.start()
    try:
        yield f"{_address(lines)}/forge-bench"
    finally:
        process.terminate()
        process.wait(timeout=30)
        reader.join(timeout=30)
        shutil.rmtree(directory)


def _drain(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str | None]") -> None:
    for line in process.stderr:
        lines.put(line)
    lines.put(None)


def _address(lines: "queue.SimpleQueue[str | None]") -> str:
    """Where it listens: the system chose the port, the registry says it."""
    while (line := lines.get(timeout=60)) is not None:
        _, found, rest = line.partition("listening on ")
        if found:
            return rest.split('"')[0].split(",")[0].strip()
    raise AssertionError("the registry ended by itself")
