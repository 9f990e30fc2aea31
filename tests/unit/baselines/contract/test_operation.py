"""The baselines' side of the referee, as a process that is led by its stdin."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import gae
from baselines.contract import operation, protocol
from baselines.contract.numbers import numbers
from baselines.inputs.gae import gae_arrays
from baselines.references.gae import prepare
from runner.gate.digests import digest
from runner.referee.messages import Done, Ready, Written, parse

ROOT = Path(gae.__file__).parents[2]
NONCE = "9f1e2e6dcd540ab7"
SIZES = {"batch": 1, "length": 128, "calls": 3, "warmup": 1, "repetitions": 5}


def go(repetitions: int, *, first: int = 5, nonce: str = NONCE) -> str:
    return json.dumps(
        {"event": "go", "case": "a", "nonce": nonce, "first": first, "repetitions": repetitions}
    )


def outputs(*repetitions: int) -> str:
    return json.dumps({"event": "outputs", "case": "a", "nonce": NONCE, "repetitions": repetitions})


def led(folder: Path, *orders: str) -> list[Any]:
    words = ["--case", "a", "--parameters", json.dumps(SIZES), "--referee", "--output", str(folder)]
    ended = subprocess.run(
        [sys.executable, "-m", "baselines.references.gae", *words],
        input="".join(f"{each}\n" for each in orders),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [parse(line) for line in ended.stdout.splitlines()]


def test_every_order_has_its_answer_and_the_end_of_stdin_is_the_end(tmp_path: Path) -> None:
    answers = led(tmp_path, go(0), go(4), outputs(6, 8))
    assert [type(each) for each in answers] == [Ready, Done, Done, Written]
    empty, done = answers[1:3]
    assert empty.digests == empty.metrics["seconds"] == ()
    assert len(done.digests) == len(done.metrics["seconds"]) == 4
    assert min(done.metrics["seconds"]) > 0
    assert done.counts == {"elements": 128}


def test_the_files_that_are_asked_for_are_those_of_the_repetition_and_give_its_digest(tmp_path: Path) -> None:
    answers = led(tmp_path, go(4), outputs(7))
    arrays = [np.load(tmp_path / "a" / "7" / f"{name}.npy") for name in ("advantages", "returns")]
    gammas = gae.gammas(numbers(NONCE, 7 * 3, 3))
    call = prepare(gae_arrays(batch=1, length=128, seed=42))
    assert np.array_equal(arrays[0], [call(gamma)[0] for gamma in gammas])
    assert digest(arrays) == answers[1].digests[2]


def test_another_nonce_is_other_work_and_the_same_is_the_same(tmp_path: Path) -> None:
    answers = led(tmp_path, go(3), go(3), go(3, nonce="0" * 16), go(3, first=7))
    first, again, other, later = (each.digests for each in answers[1:])
    assert first == again
    assert not {*first} & {*other}
    assert len({*first}) == 3
    assert later[0] == first[2]


class Clocked:
    """An operation whose repetitions take the given seconds of an invented clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, calls: int = 1) -> None:
        self.now_ns, self.repetitions, self.collecting = 0, 0, []
        self.seconds, self.calls = seconds, calls
        monkeypatch.setattr(operation.time, "perf_counter_ns", lambda: self.now_ns)

    def run(self, _: Any) -> int:
        self.repetitions += 1
        self.now_ns += round(self.seconds * 1e9)
        self.collecting.append(operation.gc.isenabled())
        return self.repetitions

    def by_hand(self, capsys: pytest.CaptureFixture[str], **sizes: Any) -> list[float]:
        case = {"calls": self.calls, "warmup": 0, "repetitions": 100, **sizes}
        words = ["--case", "a", "--parameters", json.dumps(case)]
        operation.serve(
            protocol.parser(None).parse_args(words),
            protocol.Repetitions,
            lambda *_: operation.Operation(
                calls=self.calls,
                inputs=lambda numbers: numbers,
                run=self.run,
                digested=lambda _: [np.zeros(1)],
                write=lambda *_: None,
                counts={"elements": 1},
            ),
        )
        seconds: list[float] = json.loads(capsys.readouterr().out)["metrics"]["seconds"]
        return seconds


def test_a_repetition_of_several_calls_is_divided_by_their_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clocked = Clocked(monkeypatch, 1.0, calls=4)
    assert clocked.by_hand(capsys, warmup=2, repetitions=3) == pytest.approx([0.25] * 3)
    assert clocked.repetitions == 2 + 3


def test_the_limit_ends_the_repetitions_but_not_before_the_least(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(Clocked(monkeypatch, 0.25).by_hand(capsys, seconds_limit=1.0)) == 5
    assert len(Clocked(monkeypatch, 0.25).by_hand(capsys, seconds_limit=1.0, least_repetitions=7)) == 7


def test_a_slow_warm_up_ends_at_half_the_limit_after_one_repetition_at_least(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clocked = Clocked(monkeypatch, 2.0)
    clocked.by_hand(capsys, warmup=10, repetitions=1, seconds_limit=1.0)
    assert clocked.repetitions == 1 + 1


def test_the_collector_of_cycles_is_off_while_the_clock_runs_and_on_again_after(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clocked = Clocked(monkeypatch, 1.0)
    clocked.by_hand(capsys, repetitions=2)
    assert clocked.collecting == [False, False]
    assert operation.gc.isenabled()


def counted(figures: Any, kept: Any = None) -> operation.Operation[Any, int]:
    """An operation whose repetitions give 1, 2, 3 and so on."""
    repetitions = itertools.count(1)
    return operation.Operation(
        calls=1,
        inputs=lambda numbers: numbers,
        run=lambda _: next(repetitions),
        digested=lambda _: [np.zeros(1)],
        write=lambda *_: None,
        counts={"elements": 1},
        figures=figures,
        kept=kept,
    )


def test_a_round_says_figures_of_the_outputs_of_all_its_repetitions() -> None:
    done = operation.run_round(counted(lambda outputs: {"total_elements": float(sum(outputs))}), NONCE, 5, 4)
    assert done.metrics["total_elements"] == 1 + 2 + 3 + 4
    assert len(done.metrics["seconds"]) == 4


def test_figures_are_of_what_an_operation_keeps_and_nothing_else_lives_on() -> None:
    kept: list[Any] = []
    figured = counted(lambda each: kept.extend(each) or {}, kept=lambda output: f"of {output}")
    operation.run_round(figured, NONCE, 5, 3)
    assert kept == ["of 1", "of 2", "of 3"]


def test_a_round_without_a_repetition_has_no_figure() -> None:
    done = operation.run_round(counted(lambda outputs: {"first_elements": outputs[0]}), NONCE, 5, 0)
    assert done.metrics == {"seconds": []}


def test_figures_by_hand_are_of_the_timed_repetitions_alone(capsys: pytest.CaptureFixture[str]) -> None:
    case = {"calls": 1, "warmup": 2, "repetitions": 3}
    operation.serve(
        protocol.parser(None).parse_args(["--case", "a", "--parameters", json.dumps(case)]),
        protocol.Repetitions,
        lambda *_: counted(lambda outputs: {"first_elements": float(outputs[0])}),
    )
    assert json.loads(capsys.readouterr().out)["metrics"]["first_elements"] == 3


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux counts them")
def test_a_repetition_takes_no_memory_anew_from_the_system() -> None:
    program = """
import resource
import numpy as np
from baselines.contract.operation import keep_freed_memory

def repetition():
    np.stack([np.ones(4096) for _ in range(32)]).sum()

def faults(repetitions):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(repetitions):
        repetition()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
faults(10)
print(faults(100))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # Without it, glibc takes some 250 pages anew for each: the arrays and their stack are of 2 MiB.
    assert int(ended.stdout) < 100
