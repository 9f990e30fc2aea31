"""Hostile trainings beside an honest one: what was prepared for a known seed shows with an unknown one."""

import sys
from pathlib import Path

import pytest
import yaml

from runner.cli.main import main
from runner.records.record import Record
from runner.records.store import Store
from tests.redteam.test_implementations import matrix as of_operations

TRAININGS = Path(__file__).parent / "trainings"
LIARS = ("prepares_its_training", "prepares_most_of_it", "hides_its_audit")


def command(name: str) -> list[str]:
    return [sys.executable, str(TRAININGS / f"{name}.py")]


def matrix() -> dict:
    data = of_operations()
    sine = data["benchmarks"].pop("sine")
    data["profiles"]["quick"]["seeds"]["native"] = [1, 2]
    data["benchmarks"]["walk"] = {
        "title": "Walks",
        "kind": "training",
        "headline": "training_seconds",
        "refereed": True,
        "inputs": [each.replace("sine", "walk") for each in sine["inputs"]],
        "counts": {"environment_steps": "steps"},
        "gate": {
            "outputs": {"update.npy": {"rtol": 0}},
            "episodes": "episodes.json",
            "digest": {"weights.npy": "*"},
        },
        "returns": {"episodes": 1},
        "cases": {"walk": {"environment": "CartPole-v1", "steps": 100}},
        "profiles": {"quick": {"native": {}, "emulated": {}}},
        "implementations": {
            "honest": {"command": command("training"), "reference": True, "determinism": "machine"},
            **{
                name.replace("_", "-"): {"command": command(name), "determinism": "machine"} for name in LIARS
            },
        },
    }
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in one run."""
    folder = tmp_path_factory.mktemp("trainings")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(matrix(), sort_keys=False), encoding="utf-8")
    words = ["--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results")]
    main([*words, "--executor", "local"])
    return folder


@pytest.fixture(scope="module")
def records(folder: Path) -> dict[tuple[str, int], Record]:
    """By name and seed."""
    return {(record.implementation, record.seed): record for record in Store(folder / "results").records()}


def test_every_program_of_the_folder_is_tried() -> None:
    assert {path.stem for path in TRAININGS.glob("*.py")} == {*LIARS, "training"}


def test_the_honest_one_passes_and_one_of_its_launches_is_audited(
    records: dict[tuple[str, int], Record],
) -> None:
    first, second = records["honest", 1], records["honest", 2]
    assert first.failure is None, first.failure
    assert second.failure is None, second.failure
    assert first.referee
    assert second.referee
    assert first.referee.audit
    assert not second.referee.audit
    assert first.gate[-1].check == "audit"
    assert first.referee.audit.seed not in (1, 2)
    # What an audit wrote is judged and not kept: no other platform and no verification makes it again.
    assert {name.partition("/")[0] for name in first.outputs} == {"1"}


def test_a_second_call_finds_all_of_it_done(folder: Path) -> None:
    words = ["--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results")]
    before = len(Store(folder / "results").records())
    main([*words, "--executor", "local", "--only", "walk/honest"])
    assert len(Store(folder / "results").records()) == before


@pytest.mark.parametrize("name", LIARS)
def test_prepared_work_fails_its_audit(records: dict[tuple[str, int], Record], name: str) -> None:
    record = records[name.replace("_", "-"), 1]
    assert record.failure is not None
    failed = [check.check for check in record.gate if not check.passed]
    # A busy machine may stop the process inside a window of microseconds, which fails another check before this one.
    assert "audit" in failed, record.failure
    assert record.failure.kind == "prepared-work" or failed != ["audit"], record.failure


def test_what_one_launch_shows_counts_for_all_of_them(
    folder: Path, records: dict[tuple[str, int], Record]
) -> None:
    assert records["prepares-its-training", 2].failure is None
    page = (folder / "results" / "tables" / "quick" / "walk.md").read_text(encoding="utf-8")
    assert page.count("its other seeds, 2, do not count") == len(LIARS)
    liars = [name.replace("_", "-") for name in LIARS]
    rows = [
        line
        for line in page.splitlines()
        if line.startswith("| walk") and any(each in line for each in liars)
    ]
    assert {each for each in liars if any(each in row for row in rows)} == {*liars}
    assert not [row for row in rows if "faster" in row or "slower" in row]
