"""A connection of the SDK to the daemon that the command line speaks to. Only a host has the SDK."""

import http.client
import os
from typing import Any

import requests
import urllib3
from docker.errors import DockerException
from docker.tls import TLSConfig

import docker
from runner.daemon.client_configuration import require_client_configuration
from runner.daemon.endpoint import Endpoint
from runner.daemon.information import require_daemon
from runner.daemon.pooled import pool
from runner.daemon.unavailable import unavailable
from runner.system.errors import DockerUnavailable

# The other errors that the SDK raises when a connection breaks: it wraps the errors of some layers only.
BROKEN_CONNECTION: tuple[type[Exception], ...] = (
    DockerException,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
)


def connect(*, timeout: int, at: Endpoint | None = None) -> tuple[docker.DockerClient, dict[str, Any]]:
    """The SDK's client, and what the daemon says of itself.

    Args:
        timeout: seconds that a single answer of the daemon may take.
        at: another daemon than the command line's own.

    Raises:
        DockerMissing, DockerForbidden, ClientMisconfigured, DockerUnavailable: no daemon can be used; the message
            says why.
    """
    endpoint = require_daemon(at)
    require_client_configuration()
    try:
        client = _client(endpoint, timeout)
        pool(client)
        information = client.info()
    except (
        DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
        ValueError,
    ) as error:
        raise _failed(str(error), endpoint) from error
    if not isinstance(information, dict) or not {"Architecture", "NCPU"} <= information.keys():
        raise _failed("what answers there is not a Docker daemon", endpoint)
    return client, information


def _client(endpoint: Endpoint, timeout: int) -> docker.DockerClient:
    # Over SSH the SDK uses the system's client, as the command line does, because it reads the user's configuration.
    ssh = endpoint.host.startswith("ssh://")
    if endpoint.context == "default":
        environment = {**os.environ, "DOCKER_HOST": endpoint.host}
        return docker.from_env(timeout=timeout, use_ssh_client=ssh, environment=environment)
    tls: TLSConfig | bool = False
    if endpoint.tls is not None:
        certificate, key = endpoint.tls / "cert.pem", endpoint.tls / "key.pem"
        authority = endpoint.tls / "ca.pem"
        tls = TLSConfig(
            client_cert=(str(certificate), str(key)) if certificate.is_file() else None,
            ca_cert=str(authority) if authority.is_file() else None,
            verify=endpoint.verify,
        )
    return docker.DockerClient(base_url=endpoint.host, tls=tls, timeout=timeout, use_ssh_client=ssh)


def _failed(said: str, endpoint: Endpoint) -> DockerUnavailable:
    if "paramiko" in said:
        return DockerUnavailable(
            what=f"the daemon at {endpoint.host} cannot be reached over SSH from here",
            why="the Docker SDK for Python needs the library paramiko for that",
            fix=".venv/bin/pip install paramiko, or forward the socket: "
            "ssh -NL /tmp/docker.sock:/var/run/docker.sock HOST and DOCKER_HOST=unix:///tmp/docker.sock",
        )
    return unavailable(said, endpoint.host)
