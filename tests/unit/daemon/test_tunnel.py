"""The parts of a machine's address, as ssh takes them."""

import pytest

from runner.daemon.tunnel import Address


@pytest.mark.parametrize(
    ("text", "destination", "port", "socket"),
    [
        ("ssh://me@board:22", "me@board", 22, "/var/run/docker.sock"),
        ("ssh://Pi5", "Pi5", None, "/var/run/docker.sock"),
        ("ssh://Pi5/", "Pi5", None, "/var/run/docker.sock"),
        ("ssh://root@m:2222/run/podman/podman.sock", "root@m", 2222, "/run/podman/podman.sock"),
        ("ssh://me@[fe80::1]:22", "me@fe80::1", 22, "/var/run/docker.sock"),
    ],
)
def test_an_address_names_a_machine_a_port_and_a_socket(text, destination, port, socket):
    assert Address.of(text) == Address(destination=destination, port=port, remote_socket=socket)
