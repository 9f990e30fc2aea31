"""Which trusted programs read a training's outputs."""

from dataclasses import replace

import pytest

from runner.executors.base import Examination
from runner.matrix import Matrix
from runner.planning.cells import Cell
from runner.referee.claims import Claims
from runner.referee.dialogue import Assignment, Dialogue
from runner.referee.nonce import draw
from runner.referee.sizes import Plan
from runner.running.examining import Examiner, examiner_of
from tests.fuzz import corpus
from tests.unit.referee.test_dialogue import Process


def cell_of(matrix: Matrix, implementation: str) -> Cell:
    benchmark = matrix.benchmarks["dqn"]
    case = benchmark.cases["CartPole-v1"]
    return Cell(
        benchmark=benchmark,
        case=case,
        implementation=benchmark.implementations[implementation],
        toolchain=next(iter(matrix.toolchains.values())),
        platform=matrix.platforms["amd64"],
        limits=matrix.limits["default"],
        seed=3,
        parameters={**case.parameters, **benchmark.sizes["smoke"].native},
    )


def examiner(implementation: str = "rust", *, audit_seed: int | None = None, ranked: bool = True) -> Examiner:
    cell = cell_of(corpus.shipped(), implementation)
    assignment = Assignment(
        draw=draw(b"secret", benchmark="dqn", case="CartPole-v1", seed=3),
        plan=Plan(training=True),
        claims=Claims(headline="seconds", calls=1),
        reference=None,
        seed=3,
        audit_seed=audit_seed,
    )
    listener = Dialogue(cases={"CartPole-v1": assignment}, on_progress=lambda _: None)
    Process().lead(listener)
    found = examiner_of(cell, listener, ranked=ranked)
    assert found is not None
    return found


def test_the_log_of_a_training_is_replayed_and_its_weights_are_played() -> None:
    (command,) = examiner().commands("/outputs")
    assert command[:2] == ("torchforge", "replay")
    words = dict(zip(command[2::2], command[3::2], strict=True))
    assert words == {
        "--environment": "CartPole-v1",
        "--actions": "/outputs/CartPole-v1/1/actions.safetensors",
        "--most-steps": "12000",
        "--weights": "/outputs/CartPole-v1/1/weights.safetensors",
        "--episodes": "100",
        "--seed": "2000000011",
    }


def test_networks_of_other_widths_than_the_case_s_are_no_result_of_it() -> None:
    found = examiner()
    parameters = {**found.cell.parameters, "hidden": 64}
    (command,) = replace(found, cell=replace(found.cell, parameters=parameters)).commands("/outputs")
    assert command[-2:] == ("--hidden", "64,64")


def test_an_audited_training_is_replayed_too_and_partly_in_gymnasium() -> None:
    _, audit, gymnasium = examiner(audit_seed=77).commands("/outputs")
    assert "/outputs/CartPole-v1/2/actions.safetensors" in audit
    assert "--weights" not in audit
    assert gymnasium[:3] == ("python3", "-m", "baselines.benchmarks.replay")
    assert gymnasium[-1] == "77"


@pytest.mark.parametrize(("implementation", "ranked"), [("sb3", True), ("rust", False)])
def test_other_networks_and_emulated_ones_are_not_played(implementation: str, ranked: bool) -> None:
    (command,) = examiner(implementation, ranked=ranked).commands("/outputs")
    assert "--weights" not in command


def test_nothing_is_read_where_the_referee_did_not_get_so_far() -> None:
    found = examiner()
    assert replace(found, listener=Dialogue(cases={}, on_progress=lambda _: None)).commands("/outputs") == ()


def test_a_host_without_the_program_examines_nothing() -> None:
    assert examiner().said(()) is None
    assert examiner().said((Examination(exit_code=None),)) is None
    said = examiner().said((Examination(exit_code=0),))
    assert said is not None
    assert said.audit is None
