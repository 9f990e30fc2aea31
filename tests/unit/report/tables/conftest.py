"""Golden pages. ``FORGE_BENCH_UPDATE_GOLDEN=1 pytest tests/unit/tables`` writes them anew; read the diff."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from example_records import example_matrix

from runner.matrix import Matrix

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("matrix"))


@pytest.fixture
def assert_golden() -> Callable[[str, str], None]:
    """Compares a text with the golden file of that name, or writes the file in update mode."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("FORGE_BENCH_UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), (
            f"{path} differs; see conftest.py for the update mode"
        )

    return compare
