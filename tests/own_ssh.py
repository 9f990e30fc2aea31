"""An ssh of the tests' own: its key and the machines that it knows lie in one directory, and no user's."""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SSH = """#!/bin/sh
exec {ssh} -F none -i {directory}/user -o UserKnownHostsFile={directory}/known -o StrictHostKeyChecking=accept-new "$@"
"""


def make_key(path: Path) -> None:
    """A pair of keys, the public one with the suffix ``.pub``."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def make_client(directory: Path) -> None:
    """The key ``user`` in the directory, and the program in ``bin`` that uses it."""
    make_key(directory / "user")
    program = directory / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(_SSH.format(ssh=shutil.which("ssh"), directory=directory))
    program.chmod(0o755)


def environment(directory: Path) -> Mapping[str, str]:
    """An environment in which ``ssh`` is that program."""
    return {**os.environ, "PATH": f"{directory}/bin{os.pathsep}{os.environ['PATH']}"}


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
