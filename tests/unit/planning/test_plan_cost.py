"""What a plan says of time and disk: learnt from this store's records and nothing else, and the same as the progress."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from conftest import DOUBLER, program, small_matrix
from example_records import json_of
from refitting import refitted

from runner.cli.main import main
from runner.planning.estimates import duration
from runner.planning.footprint import size
from runner.records.record import record_of
from runner.records.store import Store

LOUD = DOUBLER + "\nprint('what the log keeps ' * 20, file=sys.stderr)"


def matrix() -> dict:
    return small_matrix(other=program(LOUD), failing=program("time.sleep(0.2)\nsys.exit(3)"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """A store in which the smoke profile of `matrix` has run."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(matrix(), sort_keys=False))
    where = ["--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results")]
    assert main([*where, "--executor", "local", "--profile", "smoke"]) == 3
    return folder / "results"


@pytest.fixture
def results(filled, tmp_path) -> Path:
    """A copy of that store, to be changed."""
    shutil.copytree(filled, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def forge(write_matrix, results, capsys):
    def call(data: dict, *arguments: str, store: Path = results) -> tuple[str, str]:
        where = ["--matrix", str(write_matrix(data)), "--results", str(store), "--executor", "local"]
        main([*arguments, "--profile", "smoke", *where])
        captured = capsys.readouterr()
        return captured.out, captured.err

    return call


@pytest.fixture
def plan(forge):
    return lambda data, *arguments, **how: json.loads(forge(data, "plan", "--json", *arguments, **how)[0])


def estimates(found: dict) -> dict[str, dict | None]:
    return {each["implementation"]: each["estimate"] for each in found["launches"]}


def change_records(results: Path, edit) -> None:
    """Every record edited, sealed anew and stored under its name again."""
    for path in (results / "records").rglob("*.json"):
        data = json.loads(path.read_text())
        edit(data)
        path.unlink()
        Store(results).add(record_of(refitted(data)))


def test_a_launch_takes_as_long_as_its_like_took_in_this_store(plan, results):
    took = {record.implementation: record.launch.wall_seconds for record in Store(results).records()}
    for arguments in (["--fresh"], ["--seeds", "7"]):
        found = estimates(plan(matrix(), *arguments))
        assert found["plain"] == {"seconds": took["plain"], "at_most": False}
        assert found["other"] == {"seconds": took["other"], "at_most": False}


def test_the_time_with_another_toolchain_is_unknown(plan, results):
    change_records(results, lambda data: data["cell"].update(toolchain="older"))
    assert estimates(plan(matrix(), "--fresh"))["other"] is None


def test_a_launch_that_failed_says_nothing_of_the_time_of_a_good_one(plan):
    found = plan(matrix())
    assert estimates(found) == {"failing": None}
    assert found["time"]["unknown"] == 1


def test_fewer_cases_take_at_most_as_long_as_all_of_them(plan, results):
    took = {record.implementation: record.launch.wall_seconds for record in Store(results).records()}
    data = matrix()
    del data["benchmarks"]["double"]["cases"]["n=8"]
    found = estimates(plan(data, "--fresh"))
    assert found["other"] == {"seconds": took["other"], "at_most": True}


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["cases"]["n=4"].update(length=5),
        lambda data: data["cases"].update({"n=16": {"length": 16}}),
        lambda data: data["profiles"]["smoke"]["native"].update(size=2),
    ],
    ids=["parameters", "more cases", "sizes"],
)
def test_the_time_of_other_sizes_is_unknown_and_not_guessed(plan, edit):
    data = matrix()
    edit(data["benchmarks"]["double"])
    found = plan(data)
    assert [each["estimate"] for each in found["launches"]] == [None] * 3
    assert found["time"]["unknown"] == found["time"]["launches"] == 3


def test_the_time_of_another_machine_is_unknown_here(plan, results):
    change_records(results, lambda data: data["machine"].update(cpu_model="Abacus 3000"))
    assert plan(matrix(), "--fresh")["time"]["unknown"] == 3


def test_the_newest_five_count_and_of_those_the_median(plan, results):
    [record] = [
        each for each in Store(results).records() if (each.implementation, each.case) == ("other", "n=4")
    ]
    twin = next(
        each for each in Store(results).records() if (each.implementation, each.case) == ("other", "n=8")
    )
    for number, seconds in enumerate([900.0, 800.0, 3.0, 2.0, 7.0, 6.0, 4.0]):
        for each in (record, twin):
            data = json_of(each)
            start = data["launch"]["id"][:-8]
            data["launch"] |= {
                **{"wall_seconds": seconds, "deadline_seconds": 1000, "id": f"{start}{number:08x}"},
                "started_at": f"2999-01-0{number + 1}T00:00:00+00:00",
            }
            Store(results).add(record_of(refitted(data)))
    assert estimates(plan(matrix(), "--fresh"))["other"]["seconds"] == 4.0


def test_the_sums_are_those_of_the_launches(plan):
    found = plan(matrix(), "--fresh")
    known = [each["estimate"]["seconds"] for each in found["launches"] if each["estimate"]]
    assert found["time"]["seconds"] == pytest.approx(sum(known), abs=1e-3)
    assert found["time"]["launches"] == len(found["launches"]) == 3
    assert found["time"]["unknown"] == 1
    [only] = found["time"]["platforms"].values()
    assert only == {key: found["time"][key] for key in ("launches", "seconds", "unknown")}


def test_the_plan_and_the_run_say_the_same_time(forge):
    text, _ = forge(matrix(), "plan", "--fresh")
    [planned] = re.findall(r"^time: (\d+ launches), (.*)$", text, re.MULTILINE)
    _, said = forge(matrix(), "--fresh")
    assert f"{planned[0]} to run, {planned[1]}" in said


def test_where_nothing_is_known_the_matrix_has_the_word(forge, tmp_path):
    text, _ = forge(matrix(), "plan", store=tmp_path / "nothing")
    assert "time: 3 launches, unknown time; the matrix says 60 s for all of smoke" in text
    assert "files: unknown size" in text
    assert not (tmp_path / "nothing").exists()


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_files_to_come_are_as_large_as_those_that_came(plan, results):
    found = plan(matrix(), "--fresh")["disk"]
    assert found["images"] == []
    # References and inputs are kept already.
    expected = bytes_below(results / "records") + bytes_below(results / "logs")
    assert found["files"] == {"known_bytes": expected, "unknown": 0}


def test_inputs_and_reference_outputs_that_are_to_be_made_anew_count(plan, results):
    before = plan(matrix(), "--fresh")["disk"]["files"]["known_bytes"]
    data = matrix()
    # Another gate keeps the work and changes every key; another generator makes the inputs anew.
    data["benchmarks"]["double"]["gate"]["outputs"]["y.npy"]["rtol"] = 1e-8
    data["benchmarks"]["double"]["inputs"].append("--seed=1")
    after = plan(data)["disk"]["files"]
    assert after["unknown"] == 0
    made = bytes_below(results / "inputs") + bytes_below(results / "references")
    assert after["known_bytes"] == before + made


def test_files_of_cells_that_never_ran_are_unknown_and_counted(plan):
    data = matrix()
    data["benchmarks"]["double"]["implementations"]["third"] = {"command": program(DOUBLER)}
    assert plan(data, "--only", "double/third")["disk"]["files"]["unknown"] == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.01, "1 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (7300, "2.0 h"), (90000, "25.0 h")],
)
def test_durations_are_told_as_people_tell_them(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (12_340_000, "12 MB"), (1_020_000_000, "1.0 GB")],
)
def test_sizes_are_told_as_docker_tells_them(count, words):
    assert size(count) == words
