"""The user's configuration of Docker's client. It is refused, by its name, where the library would fail on it.

The command line ignores entries that it does not know. The library parses the same file, and its errors name neither
the file nor the fault.
"""

import json
from pathlib import Path
from typing import Any

import docker.auth
from docker.errors import DockerException
from docker.utils.config import LEGACY_DOCKER_CONFIG_FILENAME, find_config_file

from runner.system.bounded_reading import read_bounded
from runner.system.errors import ClientMisconfigured

_LARGEST = 16 * 2**20


def require_client_configuration() -> None:
    """Check that the library can use the configuration, if there is one.

    Raises:
        ClientMisconfigured: it cannot.
    """
    path: Any = find_config_file()
    if path is None or Path(path).name == LEGACY_DOCKER_CONFIG_FILENAME:
        return
    name = str(path)
    try:
        found = json.loads(read_bounded(Path(name), _LARGEST))
    except (OSError, ValueError, RecursionError):
        # The library ignores a file that is not JSON.
        return
    fault = _fault(found)
    if fault is not None:
        raise ClientMisconfigured(
            what=f"the configuration of Docker's client cannot be used: {name}",
            why=fault,
            fix="correct or remove that entry, or name another folder in DOCKER_CONFIG",
        )


def _fault(found: Any) -> str | None:
    if not isinstance(found, dict):
        return "it is no object of names and values"
    proxies, headers = found.get("proxies", {}), found.get("HttpHeaders", {})
    if not isinstance(proxies, dict) or not all(map(_names_texts, proxies.values())):
        return (
            'the entry "proxies" is no object of a daemon\'s address or "default", each with names and texts'
        )
    if headers is not None and not _names_texts(headers):
        return 'the entry "HttpHeaders" is no object of names and texts'
    try:
        docker.auth.load_config(config_dict=found)
    except (DockerException, TypeError, AttributeError, ValueError, LookupError) as error:
        return f"the entries for registries: {error}"
    return None


def _names_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
