"""Tries to reach the machine that it runs on and the world, and listens to itself, which harms nobody."""

import socket
import sys

# The first is put in by the test: a port that the host does listen on.
PORT = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else 0
found = {}
for name, address in {
    "documentation": ("192.0.2.1", 80),
    "world": ("1.1.1.1", 53),
    "bridge": ("172.17.0.1", PORT),
    "loopback": ("127.0.0.1", PORT),
    "metadata": ("169.254.169.254", 80),
}.items():
    try:
        socket.create_connection(address, timeout=2).close()
        found[name] = "open"
    except OSError:
        found[name] = "refused"
try:
    socket.getaddrinfo("example.org", 80)
    found["names"] = "open"
except OSError:
    found["names"] = "refused"
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
    found["itself"] = "open"
sys.exit(repr(found))
