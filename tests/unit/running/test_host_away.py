"""A machine that goes away in the middle of a run: one launch begins again, and nothing stops the others."""

import pytest
from verify.made import DOUBLER, Forge

from runner.executors.base import LaunchRequest, LaunchResult
from runner.executors.local import LocalExecutor
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine
from runner.system.errors import HostAway

SMOKE = ("--profile", "smoke")


@pytest.fixture
def forge(tmp_path, capsys) -> Forge:
    return Forge.of(tmp_path, capsys)


def goes_away(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The machine is away for so many launches of the competitor."""
    launch, left = LocalExecutor.launch, [None] * times

    def away(self: LocalExecutor, request: LaunchRequest) -> LaunchResult:
        if request.name.startswith("double-other") and left:
            left.pop()
            raise HostAway(what="the machine of x cannot be reached", why="ssh has ended", fix="switch it on")
        return launch(self, request)

    monkeypatch.setattr(LocalExecutor, "launch", away)


def launches(forge: Forge) -> list[tuple[int, str | None]]:
    """The records and the reason of each line of a launch."""
    found = read_ledger(forge.store.ledger_path).lines
    assert isinstance(found[-1], EndLine)
    assert found[-1].outcome == "done"
    return [(len(each.records), each.void) for each in found if isinstance(each, LaunchLine)]


def test_a_launch_whose_machine_comes_back_begins_again(forge, monkeypatch):
    goes_away(monkeypatch, 1)
    forge.run(*SMOKE, other=DOUBLER)
    records = forge.store.records()
    assert {record.implementation for record in records} >= {"other"}
    assert [void for _, void in launches(forge)].count("HostAway: the machine of x cannot be reached") == 1


def test_the_launches_of_a_machine_that_stays_away_are_not_run_and_the_ledger_says_so(forge, monkeypatch):
    goes_away(monkeypatch, 2)
    forge.run(*SMOKE, other=DOUBLER)
    records = forge.store.records()
    assert records, "the reference ran before"
    assert "other" not in {record.implementation for record in records}
    whole, *void = launches(forge)
    assert whole[1] is None
    assert {each[0] for each in void} == {0}
    assert void[-1][1] is not None
    assert void[-1][1].startswith("the machine of ")
