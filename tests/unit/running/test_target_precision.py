"""``--target-precision`` starts more processes of a whole room, in the same plan, until the intervals are narrow."""

from pathlib import Path

import pytest
import yaml
from conftest import DOUBLER, program, small_matrix

from runner.cli.main import main
from runner.publishing.plans import plans_of
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, PlanLine
from runner.records.store import Store
from runner.system.errors import UsageError

# The first seed is three times as fast as all others. At five seeds it can be the median of a resample often enough to
# count; at ten it cannot.
TIMES = "1e-6 if arguments.seed == 1 else 3e-6"


def call(directory: Path, *words: str, uneven: str = "plain") -> int:
    """A run of two implementations, of which one is uneven at first: the reference, unless another is named."""
    data = small_matrix(other=[])
    for name, implementation in data["benchmarks"]["double"]["implementations"].items():
        times = TIMES if name == uneven else "1e-6"
        implementation["command"] = program(DOUBLER.replace("[seconds]", f"[{times}]"))
    (directory / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    where = ["--matrix", str(directory / "matrix.yaml"), "--results", str(directory / "results")]
    return main(["--profile", "smoke", "--seeds", "1,2,3,4,5", *words, *where, "--executor", "local"])


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run that had to go on."""
    directory = tmp_path_factory.mktemp("grown")
    assert call(directory, "--target-precision", "40%") == 0
    return directory / "results"


def test_a_room_grows_as_a_whole_by_as_many_processes_as_its_widest_interval_asks_for(grown):
    records = Store(grown).records()
    seeds = {
        name: sorted({record.seed for record in records if record.implementation == name})
        for name in ("plain", "other")
    }
    assert seeds == {"plain": list(range(1, 11)), "other": list(range(1, 11))}


def test_a_later_run_shows_the_processes_that_were_added(grown):
    page = grown / "tables/smoke/double.md"
    before = page.read_text()
    assert "| 10 " in before, before
    assert call(grown.parent) == 0
    assert page.read_text() == before


def test_all_is_one_plan_whose_ledger_has_every_launch_and_the_rule(grown):
    lines = read_ledger(Store(grown).ledger_path).lines
    (plan,) = (line for line in lines if isinstance(line, PlanLine))
    assert plan.options["target_precision"] == "0.4"
    assert len(plan.launches) == 10
    assert isinstance(lines[-1], EndLine)
    (begun,) = plans_of(lines)
    assert len(begun.launches) == 20
    assert begun.keys == {record.key for record in Store(grown).records()}


def test_records_and_pages_say_that_a_rule_chose_the_number(grown):
    assert {record.launch.target_precision for record in Store(grown).records()} == {0.4}
    page = (grown / "tables/smoke/methodology.md").read_text()
    assert "a rule chose the number of processes: until each interval was within 40 %" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target-precision", "40%", "--budget", "0"), "the budget is used up"),
        (("--target-precision", "90%"), "20 cells run"),
        ((), "20 cells run"),
    ],
    ids=["no budget", "narrow enough", "no rule"],
)
def test_nothing_is_added_without_a_rule_a_budget_or_a_need(tmp_path, capsys, words, said):
    assert call(tmp_path, *words) == 0
    assert said in capsys.readouterr().err
    records = Store(tmp_path / "results").records()
    assert {record.seed for record in records} == set(range(1, 6))
    ruled = (tmp_path / "results/tables/smoke/methodology.md").read_text().count("a rule chose")
    assert bool(ruled) is bool(words)


def test_a_budget_without_a_rule_is_refused(tmp_path, capsys):
    assert call(tmp_path, "--budget", "3") == UsageError.exit_code
    assert "--target-precision" in capsys.readouterr().err


@pytest.mark.parametrize("uneven", ["plain", "other"])
def test_a_room_of_which_a_part_was_reused_grows_as_a_whole(tmp_path, uneven):
    assert call(tmp_path, "--only", "double/plain", uneven=uneven) == 0
    assert call(tmp_path, "--target-precision", "40%", uneven=uneven) == 0
    records = Store(tmp_path / "results").records()
    seeds = {(record.implementation, record.seed) for record in records}
    assert seeds == {(name, seed) for name in ("plain", "other") for seed in range(1, 11)}
