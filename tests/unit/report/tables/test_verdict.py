"""The answer in words: which ratios it names, and what it says where there is none."""

import re
from dataclasses import replace

from example_records import dqn_records, gae_records

from runner.matrix import Matrix
from runner.records.execution import Execution, ExecutionKind
from runner.report.tables.pages import render_verdict
from runner.report.tables.selection import rooms
from runner.report.tables.verdict import NOTHING_RANKED, verdict_in_words


def test_trainings_come_first_and_slower_operations_are_named(matrix: Matrix) -> None:
    words = render_verdict(matrix, gae_records() + dqn_records(), profile="quick")
    trainings, operations, slower = words.split(". ")
    assert trainings.startswith("Our best implementation trains DQN on CartPole-v1 12.4x (")
    assert trainings.endswith("faster than the fastest variant of pytorch that was run")
    assert operations.startswith("Ours is faster than every competitor in 0 of 1 case")
    assert slower.startswith("Slower: gae T=128, 0.293x (")


def test_trainings_of_which_no_seed_reached_the_threshold_are_said_to_have_learnt_nothing(
    matrix: Matrix,
) -> None:
    [room, *_] = rooms(matrix, dqn_records(), "dqn", profile="quick")
    assert room.benchmark.returns is not None
    far = replace(room.benchmark.returns, thresholds={"CartPole-v1": 501})
    above = replace(room, benchmark=replace(room.benchmark, returns=far))
    said = (
        "No seed of DQN on CartPole-v1 reached its threshold: these trainings ended before they had learnt."
    )
    assert said in verdict_in_words([above])
    assert "threshold" not in verdict_in_words([room])


def test_without_records_nothing_is_ranked(matrix: Matrix) -> None:
    assert render_verdict(matrix, [], profile="quick") == NOTHING_RANKED


def test_an_unknown_execution_is_the_reason_and_its_times_are_shown_and_never_divided(
    matrix: Matrix,
) -> None:
    unknown = Execution(kind=ExecutionKind.UNKNOWN, emulator=None)
    records = gae_records() + dqn_records()
    found = [
        replace(room, execution=unknown)
        for name in ("gae", "dqn")
        for room in rooms(matrix, records, name, profile="quick")
        if room.platform.name == "amd64"
    ]
    words = verdict_in_words(found)
    assert words.startswith(
        "Unranked, because a process in a container cannot tell whether it runs natively."
    )
    assert "; dqn CartPole-v1 rust 8.13 s and pytorch 101 s. " in words
    assert words.endswith("FORGE_BENCH_EXECUTION=native says so.")
    assert "faster" not in words.lower()
    assert not re.search(r"\dx", words)


def test_an_unknown_execution_without_times_of_both_sides_is_named_all_the_same(matrix: Matrix) -> None:
    unknown = Execution(kind=ExecutionKind.UNKNOWN, emulator=None)
    [room, *_] = rooms(matrix, [], "gae", profile="quick")
    words = verdict_in_words([replace(room, execution=unknown)])
    assert words.startswith("Unranked, ")
    assert "fastest" not in words


def test_one_benchmark_is_told_alone(matrix: Matrix) -> None:
    words = render_verdict(matrix, gae_records() + dqn_records(), profile="quick", benchmark="dqn")
    assert words.startswith("Our best implementation trains")
    assert "operations" not in words
