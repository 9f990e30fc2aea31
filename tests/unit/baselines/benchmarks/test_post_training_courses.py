import json
from pathlib import Path

import numpy as np
import pytest

from baselines.benchmarks import grpo, token_kl
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.contract.tapes import PLACES, pieces, places
from baselines.inputs.post_training import write_grpo, write_token_kl
from baselines.references import grpo as grpo_reference
from baselines.references import token_kl as token_kl_reference
from baselines.tuned import token_kl as token_kl_tuned

REPEATED = {"warmup": 1, "repetitions": 3}
GRPO = {"groups": 3, "size": 4, "calls": 5, **REPEATED}
NONCE = f"{1:016x}"


def options(folder: Path, **cases: dict[str, object]) -> list[str]:
    pairs = [
        part for name, each in cases.items() for part in ("--case", name, "--parameters", json.dumps(each))
    ]
    return [*pairs, "--seed", "1", "--input", str(folder), "--output", str(folder / "out")]


def covered(drawn: list[int], each: int) -> list[int]:
    """The numbers of the calls that digest and files cover."""
    return drawn[(drawn[0] >> 16) % each :: each]


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("each", [1, 3])
def test_each_call_of_grpo_reads_a_piece_with_a_reward_of_its_own(tmp_path: Path, each: int) -> None:
    write_grpo(GRPO, 42, made(tmp_path / "small"))
    options_of = options(tmp_path, small={**GRPO, "each": each})
    grpo.run(protocol.parser("").parse_args(options_of), grpo_reference.COURSE)
    tape = np.load(tmp_path / "small" / "rewards.npy")
    assert tape.shape == (12 + PLACES,)
    drawn = numbers(NONCE, 0, 5).tolist()
    changed = tape.copy()
    for number in drawn:
        changed[number % 4096 + (number >> 12) % 2**32 % 12] = (number >> 11) * 2.0**-52 - 1
    pieces_read = [changed[number % 4096 :][:12].reshape(3, 4) for number in covered(drawn, each)]
    wanted = [grpo_reference.advantages(piece) for piece in pieces_read]
    found = np.load(tmp_path / "out" / "small" / "advantages.npy")
    assert np.array_equal(found, wanted), "what earlier repetitions changed is undone"
    assert not np.array_equal(changed, tape)


@pytest.mark.parametrize("course", [token_kl_reference.COURSE, token_kl_tuned.COURSE])
@pytest.mark.parametrize("k3", [False, True])
@pytest.mark.parametrize(("batch", "each"), [(1, 1), (3, 1), (3, 2)])
def test_each_call_of_token_kl_reads_two_pieces(
    tmp_path: Path, batch: int, each: int, k3: bool, course: token_kl.Course
) -> None:
    parameters = {"batch": batch, "length": 6, "k3": k3, "calls": 5, "each": each, **REPEATED}
    write_token_kl(parameters, 42, made(tmp_path / "small"))
    token_kl.run(protocol.parser("").parse_args(options(tmp_path, small=parameters)), course)
    kind, compute = (np.float32, token_kl_reference.k3) if k3 else (np.float64, token_kl_reference.exact)
    policy, reference = (
        np.load(tmp_path / "small" / f"{name}.npy").astype(kind) for name in ("policy", "reference")
    )
    wanted = [
        compute(
            policy[number % 4096 :][: 6 * batch].reshape(batch, 6),
            reference[(number >> 32) % 4096 :][: 6 * batch].reshape(batch, 6),
        )
        for number in covered(numbers(NONCE, 0, 5).tolist(), each)
    ]
    found = np.load(tmp_path / "out" / "small" / "kl.npy")
    assert found.dtype == kind
    if course is token_kl_reference.COURSE:
        assert np.array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if k3 else 1e-12)


def test_arguments_are_as_the_implementation_takes_them(tmp_path: Path) -> None:
    parameters = {"batch": 3, "length": 6, "k3": False, "calls": 5, **REPEATED}
    write_token_kl(parameters, 42, made(tmp_path / "small"))
    given: list[tuple[object, ...]] = []

    def call(*arguments: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        given.append(arguments)
        return np.zeros(3)

    course = token_kl.Course(
        prepare=lambda _: call,
        laid_out=lambda array: array.shape,
        arguments=lambda case, policy, reference: (reference, policy, case.length),
    )
    token_kl.run(protocol.parser("").parse_args(options(tmp_path, small=parameters)), course)
    assert {*given} == {((3, 6), (3, 6), 6)}


def test_every_piece_of_a_tape_is_whole_and_none_is_a_copy() -> None:
    tape = np.arange(10 + 16 * PLACES)
    found = pieces(tape, 10, stride=16)
    assert len(found) == PLACES
    assert all(len(each) == 10 and each[0] == 16 * place for place, each in enumerate(found))
    assert all(np.shares_memory(tape, each) for each in found[:3])


def test_two_tapes_have_places_of_their_own() -> None:
    drawn = numbers(NONCE, 0, 1000)
    first, second = places(drawn, 0), places(drawn, 1)
    assert first == [number % 4096 for number in drawn.tolist()]
    assert second == [(number >> 32) % 4096 for number in drawn.tolist()]


@pytest.mark.parametrize("name", ["groups", "size"])
def test_a_group_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' must be at least 1"):
        grpo.Parameters(**{**GRPO, name: 0})  # type: ignore[arg-type]
