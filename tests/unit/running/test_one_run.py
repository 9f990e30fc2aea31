"""A ratio is of one run: a reference and its competitors are measured together, or they have no ratio."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_records import make_record, referee_facts
from msgspec.structs import replace

from runner.cli.main import main
from runner.executors.local import LocalExecutor
from runner.figures.comparison import one_run
from runner.records import references
from runner.records.record import Record
from runner.records.store import Store, newest_by_key
from tests.redteam import test_implementations as redteam

HONEST = redteam.command("program")
# How often a run is called before an honest program counts as failed.
_CALLS = 3
SIZES = {"warmup": 1, "repetitions": 20, "seconds_limit": 0.2, "least_repetitions": 5}


class Bench:
    """A refereed benchmark of honest programs, its store, and the command line over both."""

    def __init__(self, directory: Path, read: Callable[[], Any]) -> None:
        self.directory, self.read = directory, read
        self.data = redteam.matrix()
        self.sine["implementations"] = {
            name: {"command": HONEST, "reference": name == "reference", "determinism": "machine"}
            for name in ("reference", "first")
        }
        self.sine["profiles"] = {"quick": {"native": SIZES, "emulated": SIZES}}
        self.data["profiles"]["quick"]["seeds"]["native"] = [1, 2]

    @property
    def sine(self) -> dict[str, Any]:
        return self.data["benchmarks"]["sine"]

    def add(self, name: str) -> None:
        self.sine["implementations"][name] = {"command": HONEST, "determinism": "machine"}

    def call(self, *words: str) -> tuple[int, str, str]:
        matrix = self.directory / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(self.data, sort_keys=False))
        where = ["--matrix", str(matrix), "--results", str(self.directory / "results")]
        code = main([*words, *where])
        return code, *self.read()

    def run(self, *words: str) -> int:
        """Run; how many records of cells that passed were made.

        Beside other tests an honest program may wait for its processor between two repetitions. Such a cell fails, and
        the next call runs it again.
        """
        before = len(self.passed())
        for _ in range(_CALLS):
            known = {each.identifier for each in self.records()}
            code, _, err = self.call(*words, "--executor", "local")
            if code in (0, 130):
                return len(self.passed()) - before
            failed = [each for each in self.records() if each.failure and each.identifier not in known]
            assert {each.failure.kind for each in failed if each.failure} == {"unaccounted-time"}, err
        raise AssertionError(err)

    def reasons(self, *words: str) -> dict[str, str]:
        """Why each cell runs that does."""
        _, out, err = self.call("plan", "--json", *words, "--executor", "local")
        assert out, err
        return {
            f"{cell['implementation']} {cell['seed']}": cell["why"]
            for cell in json.loads(out)["cells"]
            if cell["decision"] == "run"
        }

    def passed(self) -> list[Record]:
        return [each for each in self.records() if not each.failure]

    def records(self) -> list[Record]:
        return Store(self.directory / "results").records()

    def nonces(self) -> dict[str, str]:
        """The nonce of the newest record of each cell."""
        newest = newest_by_key(self.records()).values()
        return {
            f"{each.implementation} {each.seed}": each.referee.nonce if each.referee else ""
            for each in newest
        }

    def interrupted_at(self, name: str, *words: str) -> None:
        """A run that somebody stops when the launch of this implementation and seed begins."""
        launch = LocalExecutor.launch

        def stopped(executor: LocalExecutor, request: Any) -> Any:
            if request.name.startswith(f"sine-{name}-"):
                raise KeyboardInterrupt
            return launch(executor, request)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(LocalExecutor, "launch", stopped)
            self.run(*words)


@pytest.fixture
def bench(tmp_path, capsys) -> Bench:
    return Bench(tmp_path, capsys.readouterr)


def test_a_room_that_is_whole_is_not_measured_again(bench):
    assert bench.run() == 4
    assert len(set(bench.nonces().values())) == 1
    assert bench.run() == 0


def test_a_new_competitor_brings_its_whole_room_and_gets_inputs_that_nobody_knew(bench):
    bench.run()
    before = bench.nonces()
    bench.add("second")
    why = bench.reasons()
    assert len(why) == 6
    assert why["reference 1"] == "measured beside second sine seed 1, which runs"
    assert bench.run() == 6
    after = bench.nonces()
    assert len(set(after.values())) == 1
    assert set(after.values()).isdisjoint(before.values())
    assert bench.run() == 0


def test_a_competitor_that_runs_alone_is_measured_beside_its_reference(bench):
    bench.run("--only", "sine/reference")
    before = bench.nonces()
    assert bench.run("--only", "sine/first", "--seeds", "1") == 2
    after = bench.nonces()
    assert after["reference 1"] == after["first 1"] != before["reference 1"]


def test_a_failed_cell_is_tried_again_alone_on_the_inputs_of_its_run(bench):
    bench.sine["implementations"]["first"]["command"] = ["false"]
    assert bench.call("--executor", "local")[0] == 3
    before = bench.nonces()
    assert {name.split()[0] for name in bench.reasons()} == {"first"}
    bench.call("--executor", "local")
    assert bench.nonces()["reference 1"] == before["reference 1"]


def test_an_interrupted_run_goes_on_and_measures_nothing_twice(bench):
    bench.interrupted_at("first")
    done = bench.nonces()
    assert "reference 1" in done
    assert set(bench.reasons()) == {"reference 1", "reference 2", "first 1", "first 2"} - set(done)
    bench.run()
    assert len(set(bench.nonces().values())) == 1
    assert bench.nonces()["reference 1"] == done["reference 1"]
    assert bench.run() == 0


@pytest.mark.parametrize("at", ["reference", "first", "second"])
def test_an_interrupted_run_of_a_new_competitor_ends_with_all_of_its_room_in_one_run(bench, at):
    bench.run()
    bench.add("second")
    bench.interrupted_at(at)
    bench.run()
    assert len(bench.nonces()) == 6
    assert len(set(bench.nonces().values())) == 1
    assert bench.run() == 0


def test_a_reference_that_works_long_beside_its_timed_parts_passes_at_each_seed(bench, tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text(
        f"import sys, time\nsys.path.insert(0, {str(redteam.HOSTILE)!r})\nfrom program import Honest\n\n\n"
        "class Slow(Honest):\n"
        "    def prepare(self, factors):\n"
        "        time.sleep(0.01)\n\n\n"
        "Slow().serve()\n"
    )
    for implementation in bench.sine["implementations"].values():
        implementation["command"] = [sys.executable, str(slow)]
    assert bench.call("--executor", "local")[0] == 3
    failed = {each.implementation: each.failure.kind for each in bench.records() if each.failure}
    assert failed == {"first": "unaccounted-time"}, "a competitor could hide its work there"


def refereed(record: Record, nonce: str) -> Record:
    return replace(record, referee=referee_facts(nonce=nonce))


def test_records_of_two_runs_are_not_compared():
    old, new = "0" * 16, "1" * 16
    reference = [refereed(make_record(implementation="numpy", seed=seed), new) for seed in (1, 2)]
    assert one_run(reference, [refereed(make_record(seed=seed), new) for seed in (1, 2, 3)])
    assert not one_run(reference, [refereed(make_record(seed=seed), old) for seed in (1, 2)])
    assert not one_run(reference, [make_record()])
    assert one_run([make_record()], [make_record(seed=2)]), "without a referee nothing tells their run"


def test_seeds_of_two_runs_count_together_where_each_seed_is_of_the_same_run_on_both_sides():
    def side(name: str, runs: str) -> list[Record]:
        return [
            refereed(make_record(implementation=name, seed=seed), run * 16)
            for seed, run in enumerate(runs, start=1)
        ]

    assert one_run(side("numpy", "00011"), side("rust", "00011"))
    assert not one_run(side("numpy", "00011"), side("rust", "00111")), "one side has more of the second day"


def test_a_room_with_records_of_two_runs_is_measured_again_whole(bench):
    bench.add("second")
    bench.run()
    bench.run("--fresh", "--only", "sine/first")
    why = bench.reasons()
    assert len(why) == 6
    assert "has records of two runs, which form no ratio" in why["reference 1"]
    assert bench.run() == 6
    assert len(set(bench.nonces().values())) == 1
    assert bench.run() == 0


def test_the_page_and_compare_say_that_a_row_was_measured_in_another_run(bench):
    bench.add("second")
    bench.run()
    bench.run("--fresh", "--only", "sine/first")
    code, _, err = bench.call("render")
    assert code == 0, err
    tables = bench.directory / "results" / "tables" / "quick"
    (said,) = [
        line
        for line in (tables / "methodology.md").read_text().splitlines()
        if "measured in another run than the reference" in line
    ]
    assert "second" in said
    assert "first" not in said
    words = ["compare", "--benchmark", "sine", "--base", "reference", "--format", "json", "--against"]
    assert bench.call(*words, "first")[0] == 0
    code, _, err = bench.call(*words, "second")
    assert code == 9
    assert "of two runs" in err


def test_a_reference_that_another_run_measured_meanwhile_judges_no_launch(bench, monkeypatch):
    launch, store = LocalExecutor.launch, Store(bench.directory / "results")

    def beside_another_run(executor: LocalExecutor, request: Any) -> Any:
        result = launch(executor, request)
        if request.name.startswith("sine-first-"):
            (draw,) = (store.root / references.AREA).rglob(references.DRAW)
            other = bench.directory / "other"
            shutil.copytree(draw.parent, other)
            kept = json.loads(draw.read_text())
            (other / draw.name).write_text(json.dumps({**kept, "nonce": "f" * len(kept["nonce"])}))
            references.keep(store, draw.parent.parent.name, other)
        return result

    monkeypatch.setattr(LocalExecutor, "launch", beside_another_run)
    assert bench.call("--seeds", "1", "--executor", "local")[0] == 3
    (failed,) = [each for each in bench.records() if each.failure]
    assert (failed.implementation, failed.failure.kind) == ("first", "no-reference")
    assert "another run measured the reference reference anew meanwhile" in failed.failure.detail
