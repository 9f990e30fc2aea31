"""What a secret decides, and the digest of what was computed from it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from baselines.contract.numbers import digest, numbers
from runner.gate.digests import digest as digest_of_files
from runner.referee.nonce import draw, new_secret

NONCES = st.integers(0, 2**64 - 1).map(lambda value: f"{value:016x}")


def test_the_generator_is_the_published_one() -> None:
    # SplitMix64 with seed 1234567, from its reference implementation.
    first = numbers(f"{1234567:016x}", 0, 3).tolist()
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(NONCES, st.integers(0, 10_000), st.integers(1, 20))
def test_a_number_belongs_to_its_call_wherever_a_round_begins(nonce: str, first: int, count: int) -> None:
    assert numbers(nonce, first, count).tolist() == numbers(nonce, 0, first + count)[first:].tolist()


ARRAYS = st.lists(
    arrays(st.sampled_from([np.float64, np.float32, np.int64, np.uint8]), st.integers(0, 9)),
    min_size=1,
    max_size=4,
)


@given(ARRAYS)
def test_a_digest_is_the_sum_of_words(outputs: list[np.ndarray]) -> None:
    total = 0
    for array in outputs:
        data = array.tobytes()
        total += sum(int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8))
    assert digest(outputs) == digest_of_files(outputs) == f"{total % 2**64:016x}"


def test_large_arrays_have_the_digest_of_their_parts() -> None:
    whole = np.random.default_rng(1).standard_normal((64, 4096))
    assert digest([whole]) == digest(list(whole)) == digest_of_files([whole.astype("<f8")])


def test_a_secret_gives_all_that_share_it_the_same_and_each_case_its_own() -> None:
    secret = new_secret()
    first = draw(secret, benchmark="gae", case="T=8", seed=1)
    assert first == draw(secret, benchmark="gae", case="T=8", seed=1)
    others = [
        draw(secret, benchmark="gae", case="T=9", seed=1),
        draw(secret, benchmark="gae", case="T=8", seed=2),
        draw(secret, benchmark="ppo", case="T=8", seed=1),
        draw(new_secret(), benchmark="gae", case="T=8", seed=1),
    ]
    assert len({each.nonce for each in (first, *others)}) == 5


@given(st.binary(min_size=32, max_size=32), st.integers(0, 100), st.integers(1, 10_000))
def test_what_is_asked_for_lies_in_the_round(secret: bytes, first: int, count: int) -> None:
    repetitions = range(first, first + count)
    asked = draw(secret, benchmark="b", case="c", seed=1).repetitions_of(repetitions)
    assert asked
    assert all(each in repetitions for each in asked)
