"""The baselines' side of the referee, as a process that is led by its stdin."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from baselines.benchmarks import gae
from baselines.contract.numbers import numbers
from baselines.inputs.gae import gae_arrays
from baselines.references.gae import prepare
from runner.gate.digests import digest
from runner.referee.messages import Done, Ready, Written, parse

ROOT = Path(gae.__file__).parents[2]
NONCE = "9f1e2e6dcd540ab7"
SIZES = {"batch": 1, "length": 128, "calls": 3, "warmup": 1, "repetitions": 5}


def order(event: str, repetitions: Any, nonce: str = NONCE) -> str:
    return json.dumps({"event": event, "case": "a", "nonce": nonce, "repetitions": repetitions})


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
    answers = led(tmp_path, order("go", 0), order("go", 4), order("outputs", [1, 3]))
    assert [type(each) for each in answers] == [Ready, Done, Done, Written]
    empty, done = answers[1:3]
    assert empty.digests == empty.metrics["seconds"] == ()
    assert len(done.digests) == len(done.metrics["seconds"]) == 4
    assert min(done.metrics["seconds"]) > 0
    assert done.counts == {"elements": 128}


def test_the_files_that_are_asked_for_are_those_of_the_repetition_and_give_its_digest(tmp_path: Path) -> None:
    answers = led(tmp_path, order("go", 4), order("outputs", [2]))
    outputs = [np.load(tmp_path / "a" / "2" / f"{name}.npy") for name in ("advantages", "returns")]
    gammas = gae.gammas(numbers(NONCE, 0, 2 * 3, 3))
    call = prepare(gae_arrays(batch=1, length=128, seed=42))
    assert np.array_equal(outputs[0], [call(gamma)[0] for gamma in gammas])
    assert digest(outputs, nonce=NONCE, repetition=2, calls=3) == answers[1].digests[2]


def test_another_nonce_is_other_work_and_the_same_is_the_same(tmp_path: Path) -> None:
    answers = led(tmp_path, order("go", 3), order("go", 3), order("go", 3, "0" * 16))
    first, again, other = (each.digests for each in answers[1:])
    assert first == again
    assert not {*first} & {*other}
    assert len({*first}) == 3
