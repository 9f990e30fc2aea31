"""Rendering reads records and nothing else: no daemon, no executor, no machine."""

from pathlib import Path

import pytest
from example_records import MATRIX, dqn_records, example_matrix, gae_records

from runner.cli.main import main
from runner.records.store import Store


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records of two architectures, and a Docker that answers nobody."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    example_matrix(tmp_path, MATRIX)
    for record in gae_records() + dqn_records():
        Store(tmp_path / "results").add(record.data)
    return ["--matrix", str(tmp_path / "matrix.yaml"), "--results", str(tmp_path / "results")]


def test_tables_are_rendered_where_no_docker_is(where: list[str], tmp_path: Path, capsys) -> None:
    assert main(["render", *where]) == 0
    overview = (tmp_path / "results/tables/quick/overview.md").read_text(encoding="utf-8")
    assert "| amd64" in overview
    assert "| arm64" in overview
    assert capsys.readouterr().out == overview


def test_one_architecture_is_printed_and_every_platform_written(
    where: list[str], tmp_path: Path, capsys
) -> None:
    assert main(["render", "--arch", "arm64", *where]) == 0
    printed = capsys.readouterr().out
    assert "| arm64" in printed
    assert "| amd64" not in printed
    assert "| amd64" in (tmp_path / "results/tables/quick/overview.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("only", "titles"),
    [
        (["--only", "gae/rust"], ["Generalised advantage estimation"]),
        (["--only", "*/rust"], ["Generalised advantage estimation", "DQN on CartPole-v1"]),
    ],
)
def test_the_pages_of_selected_benchmarks_are_printed(
    where: list[str], capsys, only: list[str], titles: list[str]
) -> None:
    assert main(["render", *only, *where]) == 0
    printed = capsys.readouterr().out
    found = [
        title for title in ("Generalised advantage estimation", "DQN on CartPole-v1") if title in printed
    ]
    assert found == titles
