import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.benchmarks import calls
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.contract.tapes import PLACES
from baselines.inputs.calls import write as write_inputs
from baselines.references import calls as reference
from baselines.tuned import calls as tuned

SIZES = {"size": 8, "calls": 20, "warmup": 1, "repetitions": 2}
# The first number of the first repetition, where the seed of the process is the nonce.
FIRST = int(numbers(f"{1:016x}", 0, 1)[0]) % PLACES


def served(
    folder: Path, course: calls.Course, capsys: pytest.CaptureFixture[str], does: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The measurement and the output files of one case."""
    parameters = {**SIZES, "does": does}
    inputs = folder / "in" / "case"
    inputs.mkdir(parents=True, exist_ok=True)
    write_inputs(parameters, 42, inputs)
    words = ["--case", "case", "--parameters", json.dumps(parameters), "--input", str(folder / "in")]
    calls.run(protocol.parser(None).parse_args([*words, "--output", str(folder / "out")]), course)
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    files = {name: np.load(folder / "out" / "case" / f"{name}.npy") for name in ("answers", "last")}
    return event, files


def wanted(folder: Path, does: str) -> Any:
    """By the inputs alone."""
    order, tapes = (np.load(folder / "in" / "case" / f"{name}.npy") for name in ("order", "values"))
    drawn = order[FIRST : FIRST + 20].tolist()
    if does == "echo":
        return drawn
    if does == "copy":
        return [tapes[0, first : first + 8].tolist() for first in drawn]
    arrays = tapes.tolist() if does == "sum" else tapes[:1].tolist()
    found = []
    for index in drawn:
        value = arrays[0][index]
        for array in arrays[1:]:
            value += array[index]
        found.append(value)
    return found


@pytest.mark.parametrize("does", calls.LOOPS)
@pytest.mark.parametrize("course", [reference.COURSE, tuned.COURSE], ids=["plain", "tuned"])
def test_each_call_gives_what_the_drawn_order_says(
    does: str, course: calls.Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event, files = served(tmp_path, course, capsys, does)
    assert event["counts"] == {"calls": 20}
    assert len(event["metrics"]["seconds"]) == 2
    assert files["answers"].dtype == np.float64
    assert files["answers"].tolist() == wanted(tmp_path, does)
    assert files["last"].tolist() == files["answers"][-1:].tolist()


@pytest.mark.parametrize(("does", "arrays"), [("echo", 0), ("element", 1), ("sum", 5)])
def test_a_call_takes_the_arrays_and_a_number_and_is_made_as_often_as_is_claimed(
    does: str, arrays: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[Any, ...]] = []

    def noted(*arguments: Any) -> Any:
        seen.append(arguments)
        return arguments[-1]

    served(tmp_path, calls.Course(calls={does: noted}), capsys, does)
    # A warm-up, two repetitions, and the first one twice more for the files: the last result alone, and all of them.
    assert len(seen) == 5 * 20
    tapes = np.load(tmp_path / "in" / "case" / "values.npy")
    for *given, index in seen:
        assert [array.tolist() for array in given] == tapes[:arrays, :8].tolist()
        assert type(index) is int
        assert 0 <= index < 8


def test_an_array_that_was_given_is_no_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no new one"):
        served(tmp_path, calls.Course(calls={"copy": lambda array: array}), capsys, "copy")


def test_a_case_that_no_call_does_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        served(tmp_path, calls.Course(calls={"copy": np.copy}), capsys, "sum")
    assert "case case asks for 'sum', and no call here does it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"does": "push"}, "'does' must be one of echo, element, sum, copy"),
        ({"size": 0}, "'size' must be at least 1"),
        ({"calls": 0}, "'calls' must be at least 1"),
    ],
)
def test_a_case_without_a_call_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calls.Parameters(**{**SIZES, "does": "echo", **changes})
