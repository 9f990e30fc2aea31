"""``--strict`` refuses what a page would only mark: a restless machine before the run, a disturbed launch after it."""

from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from conftest import small_matrix

from runner.cli.main import main
from runner.executors.local import LocalExecutor
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine, PlanLine
from runner.records.store import Store
from runner.report.tables.warnings import warnings_of_machine
from runner.system import machine
from runner.system.errors import NotQuiet

AT_REST = {"governor": "performance", "turbo": False, "smt": False, "hypervisor": False, "swap_bytes": 0}
IDLE = {
    "load_1m": 0.0,
    "swap_used_bytes": 0,
    "cpu_pressure_avg10": 0.0,
    "throttle_count": 0,
    "swapped_pages": 0,
}


@pytest.fixture
def forge(write_matrix: Callable[[dict], Path], tmp_path: Path, monkeypatch) -> Callable[..., int]:
    """The command line, on a machine in these states, one after another; the last goes on."""
    path = write_matrix(small_matrix())

    def call(*words: str, states: list[dict[str, Any]], facts: dict[str, Any] | None = None) -> int:
        described = {**machine.describe(), **AT_REST, **(facts or {})}
        following = chain(states, repeat(states[-1]))
        monkeypatch.setattr(LocalExecutor, "machine", lambda _, _platform: described)
        monkeypatch.setattr(LocalExecutor, "state", lambda _, _platform: {**IDLE, **next(following)})
        where = ["--matrix", str(path), "--results", str(tmp_path / "results"), "--executor", "local"]
        return main(["--profile", "smoke", *words, *where])

    return call


def test_a_quiet_machine_is_measured_and_the_ledger_says_how(forge, tmp_path, monkeypatch):
    # Limits that this executor cannot enforce are a mark of their own.
    monkeypatch.setattr("runner.report.tables.warnings._of_limits", lambda _: ())
    assert forge("--strict", states=[{}]) == 0
    lines = read_ledger(Store(tmp_path / "results").ledger_path).lines
    (plan,) = (line for line in lines if isinstance(line, PlanLine))
    assert plan.options["strict"] is True


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"governor": "powersave"}, "governor is powersave"),
        ({"turbo": True}, "Turbo is on"),
        ({"smt": None}, "SMT: unknown"),
        ({"swap_bytes": 2**30}, "Swap is present"),
        ({"hypervisor": True}, "virtual"),
    ],
)
def test_a_restless_machine_is_refused_before_anything_starts(forge, tmp_path, capsys, facts, said):
    assert forge("--strict", states=[{}], facts=facts) == NotQuiet.exit_code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"load_1m": 99.0}, {}, "began while the machine was loaded"),
        ({"busy_processors": 99.0}, {}, "began while other work"),
        ({}, {"busy_processors": 99.0}, "ended while other work"),
        ({"cpu_pressure_avg10": 40.0}, {}, "CPU pressure"),
        ({"memory_pressure_avg10": 40.0}, {}, "waited for memory"),
        ({"io_pressure_avg10": 40.0}, {}, "waited for memory or a disk"),
        ({}, {"throttle_count": 1}, "throttled itself"),
        ({"quota_throttle_count": 4}, {"quota_throttle_count": 5}, "CPU quota"),
        ({}, {"swapped_pages": 1}, "swapped"),
        ({"governor": "performance"}, {"governor": "powersave"}, "another governor"),
        ({"throttled": 0x50005}, {}, "held its processor back"),
        ({"throttled": 0x40000}, {"throttled": 0x60000}, "held its processor back"),
    ],
)
def test_a_disturbed_launch_is_not_stored_and_its_plan_says_why(
    forge, tmp_path, capsys, monkeypatch, before, after, said
):
    monkeypatch.setattr("runner.report.tables.warnings._of_limits", lambda _: ())
    assert forge("--strict", states=[before, {**before, **after}]) == NotQuiet.exit_code
    assert said in capsys.readouterr().err
    store = Store(tmp_path / "results")
    assert store.records() == []
    lines = read_ledger(store.ledger_path).lines
    (launch,) = (line for line in lines if isinstance(line, LaunchLine))
    (end,) = (line for line in lines if isinstance(line, EndLine))
    assert launch.void is not None
    assert end.outcome == "stopped"


def test_a_board_that_was_held_back_before_a_launch_alone_can_be_quiet(forge, monkeypatch):
    monkeypatch.setattr("runner.report.tables.warnings._of_limits", lambda _: ())
    assert forge("--strict", states=[{"throttled": 0x50000}]) == 0


def test_an_arm_processor_has_turbo_only_where_its_kernel_shows_a_switch():
    def marks(**facts: Any) -> list[str]:
        return [each for each in warnings_of_machine({**AT_REST, **facts}) if "Turbo" in each]

    assert marks(architecture="arm64", turbo=None) == []
    assert marks(architecture="arm64", turbo=True) == ["Turbo is on."]
    assert marks(architecture="amd64", turbo=None) == ["Turbo: unknown."]


def test_a_processor_of_amd64_whose_turbo_is_unknown_is_refused(forge, capsys):
    facts = {"turbo": None, "architecture": "amd64"}
    assert forge("--strict", states=[{}], facts=facts) == NotQuiet.exit_code
    assert "Turbo: unknown" in capsys.readouterr().err


def test_without_strict_the_same_launch_is_stored_and_marked(forge, tmp_path):
    assert forge(states=[{"load_1m": 99.0}]) == 0
    assert len(Store(tmp_path / "results").records()) == 2
    assert "loaded" in (tmp_path / "results/tables/smoke/methodology.md").read_text()
