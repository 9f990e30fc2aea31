"""The peers' post-training operations against NumPy's. Needs rlox, Numba and JAX: runs inside the image `peers`."""

import numpy as np
import pytest

from baselines.benchmarks import grpo, token_kl
from baselines.contract.numbers import numbers
from baselines.peers import (
    grpo_jax,
    grpo_numba,
    grpo_rlox,
    token_kl_numba,
    token_kl_rlox,
)
from baselines.references import grpo as grpo_reference
from baselines.references import token_kl as token_kl_reference

GRPO = {
    "jax": grpo_jax.COURSE,
    "numba": grpo_numba.COURSE,
    **{f"rlox-{calls}": course for calls, course in grpo_rlox.COURSES.items()},
}
TOKEN_KL = {"numba": token_kl_numba.COURSE, "rlox": token_kl_rlox.COURSE}


@pytest.mark.parametrize("course", GRPO.values(), ids=GRPO)
@pytest.mark.parametrize("shape", [(16, 4), (3, 32)])
def test_its_advantages_agree(course: grpo.Course, shape: tuple[int, int]) -> None:
    rewards = np.random.default_rng(1).standard_normal(shape)
    found = course.gathered([course.call(course.laid_out(rewards))])
    np.testing.assert_allclose(found.reshape(shape), grpo_reference.advantages(rewards), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("course", GRPO.values(), ids=GRPO)
def test_it_reads_the_reward_that_was_changed_after_the_tape_was_laid_out(course: grpo.Course) -> None:
    shape = (16, 4)
    tape = grpo.Tape(np.random.default_rng(1).standard_normal(64 + 4095), 64)
    laid_out = [course.laid_out(piece.reshape(shape)) for piece in tape.pieces]
    for repetition in range(2):
        for place in tape.drawn(numbers("0" * 16, 8 * repetition, 8)):
            wanted = grpo_reference.advantages(tape.pieces[place].reshape(shape))
            found = course.gathered([course.call(laid_out[place])])
            np.testing.assert_allclose(found.reshape(shape), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("course", TOKEN_KL.values(), ids=TOKEN_KL)
@pytest.mark.parametrize("k3", [False, True])
@pytest.mark.parametrize(("batch", "length"), [(1, 200), (4, 200), (4, 3000)])
def test_its_divergences_agree(course: token_kl.Course, batch: int, length: int, k3: bool) -> None:
    parameters = token_kl.Parameters(batch=batch, length=length, k3=k3, calls=1, warmup=0, repetitions=1)
    kind = np.float32 if k3 else np.float64
    pair = (-2 * np.random.default_rng(1).random((2, batch, length))).astype(kind)
    laid_out = tuple(map(course.laid_out, pair))
    arguments = laid_out if course.arguments is None else course.arguments(parameters, *laid_out)
    found = course.gathered([course.prepare(parameters)(*arguments)]).astype(kind, copy=False).reshape(-1)
    wanted = token_kl_reference.COURSE.prepare(parameters)(*pair)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if k3 else 1e-12)


def test_the_exponential_for_numba_is_that_of_the_c_library() -> None:
    exponents = np.linspace(-708, 709, 100_001)
    found = [token_kl_numba.exp(exponent) for exponent in exponents]
    np.testing.assert_allclose(found, np.exp(exponents), rtol=5e-16)
    exponents_f32 = np.linspace(-87, 88, 100_001, dtype=np.float32)
    found = [token_kl_numba.exp_f32(exponent) for exponent in exponents_f32]
    np.testing.assert_allclose(found, np.exp(exponents_f32.astype(np.float64)), rtol=2e-7)
    assert np.isnan(token_kl_numba.exp(np.nan))
    assert np.isnan(token_kl_numba.exp_f32(np.float32(np.nan)))
