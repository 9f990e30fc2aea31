"""The runner's version has one number."""

import tomllib
from pathlib import Path

from runner.system.version import VERSION


def test_a_ledger_names_the_version_that_the_package_has():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
