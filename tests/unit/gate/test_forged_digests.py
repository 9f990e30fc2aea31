"""A digest covers what the reference's files have, and nothing in which a forger could hide a number of choice."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from runner.gate.arrays import Unreadable, read_arrays
from runner.gate.check import Refused
from runner.gate.digests import digest, digested
from runner.matrix.model import Gate, Replay
from runner.records.failure import FailureKind

RIGHT = {"w": np.arange(4, dtype=np.float32)}


def padded(said: str) -> dict[str, NDArray[np.generic]]:
    """The right outputs, and a number that gives any digest."""
    pad = (int(said, 16) - int(digest(RIGHT.values()), 16)) % 2**64
    return {**RIGHT, "pad": np.array([pad], dtype=np.uint64)}


@pytest.mark.parametrize(
    "replay",
    [Replay(actions="actions.safetensors", weights="weights.safetensors"), None],
    ids=["a training", "an operation"],
)
def test_a_tensor_that_would_make_any_digest_true_is_refused(tmp_path: Path, replay: Replay | None) -> None:
    gate = Gate(outputs=(), episodes=None, digest={"weights.safetensors": "*"}, replay=replay)
    forged = padded("deadbeefcafe0001")
    assert digest(forged.values()) == "deadbeefcafe0001"
    for name, tensors in (("mine", forged), ("theirs", RIGHT)):
        (tmp_path / name).mkdir()
        save_file(tensors, tmp_path / name / "weights.safetensors")
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for files in ({}, {"weights.safetensors": forged}):
        with pytest.raises(Refused, match="holds pad, which the reference's file lacks") as found:
            list(digested(gate, mine, files, known=theirs))
        assert found.value.failure.kind is FailureKind.WRONG_OUTPUT
    assert len(list(digested(gate, theirs, {}, known=theirs))) == 1


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: np.zeros(2, np.longdouble), "more than 8 bytes"),
        (lambda: np.array([0, 1, 7], np.uint8).view(np.bool_), "neither 0 nor 1"),
    ],
    ids=["long double", "truth values"],
)
def test_bytes_that_mean_nothing_are_refused(
    tmp_path: Path, make: Callable[[], NDArray[np.generic]], why: str
) -> None:
    np.save(tmp_path / "y.npy", make())
    with pytest.raises(Unreadable, match=why):
        read_arrays(tmp_path / "y.npy")


def test_a_half_float_counts_as_the_float_of_the_same_value() -> None:
    values = [1.5, 2.5, 3.25]
    assert digest([np.array(values, np.float16)]) == digest([np.array(values, np.float32)])
