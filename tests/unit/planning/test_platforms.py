"""Which platforms a call runs on: native machines first, and emulation only where there is none."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from runner.matrix import Matrix, Platform, Slurm, load_matrix
from runner.planning.cells import Selection

MATRIX = load_matrix(Path(__file__).parents[3] / "matrix.yaml")
PI = Platform(name="pi5", architecture="arm64", host="ssh://me@board:22")
FLEET = Platform(name="fleet", architecture="amd64", slurm=Slurm(partition="short"))


def selected(*others: Platform, **asked: tuple[str, ...]) -> list[str]:
    """The platforms on an amd64 machine, whose matrix has these others too."""
    platforms: Mapping[str, Platform] = {**MATRIX.platforms, **{each.name: each for each in others}}
    matrix: Matrix = replace(MATRIX, platforms=platforms)
    selection = Selection(profile="quick", **asked)  # type: ignore[arg-type]
    return [each.name for each in selection.platforms_of(matrix, lambda each: each.architecture == "arm64")]


def test_without_other_machines_every_architecture_runs_here() -> None:
    assert selected() == ["amd64", "arm64"]
    assert selected(architectures=("arm64",)) == ["arm64"]


def test_a_native_machine_takes_the_place_of_emulation() -> None:
    assert selected(PI) == ["amd64", "pi5"]
    assert selected(PI, architectures=("arm64",)) == ["pi5"]


def test_a_fleet_of_this_architecture_stands_beside_this_machine() -> None:
    assert selected(FLEET) == ["amd64", "arm64", "fleet"]
    assert selected(FLEET, architectures=("amd64",)) == ["amd64", "fleet"]


@pytest.mark.parametrize("names", [("pi5",), ("arm64",), ("arm64", "pi5")])
def test_a_platform_that_is_named_runs(names: tuple[str, ...]) -> None:
    assert selected(PI, platforms=names) == list(names)
