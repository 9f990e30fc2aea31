"""What several tests of executors need."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.invented_daemon import InventedDaemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[InventedDaemon]:
    with InventedDaemon(tmp_path / "docker.sock") as server:
        yield server
        server.shutdown()
