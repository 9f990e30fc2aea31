"""What a secret decides: the same for all that share it, and nothing that another secret gives away."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baselines.contract.numbers import Places, digest, numbers
from runner.gate.digests import digest as digest_of_files
from runner.referee.nonce import draw, new_secret, number

NONCES = st.integers(0, 2**64 - 1).map(lambda value: f"{value:016x}")


def test_the_generator_is_the_published_one() -> None:
    # SplitMix64 with seed 1234567, from its reference implementation.
    first = [number(f"{1234567:016x}", 0, index) for index in range(3)]
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(NONCES, st.integers(0, 3), st.integers(0, 10_000), st.integers(1, 20))
def test_the_baselines_and_the_runner_draw_the_same_numbers(
    nonce: str, stream: int, first: int, count: int
) -> None:
    wanted = [number(nonce, stream, first + index) for index in range(count)]
    assert numbers(nonce, stream, first, count).tolist() == wanted


@given(NONCES, st.integers(0, 50), st.integers(1, 6), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_a_digest_is_that_of_its_files(nonce: str, repetition: int, calls: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    outputs = [rng.standard_normal((calls, size)) for size in sizes]
    places = Places.of(nonce, sizes=sizes, first=repetition * calls, count=calls)
    elements = [
        outputs[which][call].item(element)
        for call, (which, element) in enumerate(zip(places.outputs, places.elements, strict=True))
    ]
    wanted = digest_of_files(outputs, nonce=nonce, repetition=repetition, calls=calls)
    assert digest(elements) == wanted


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


@given(st.binary(min_size=32, max_size=32), st.integers(1, 10_000))
def test_what_is_asked_for_lies_in_the_round(secret: bytes, repetitions: int) -> None:
    asked = draw(secret, benchmark="b", case="c", seed=1).repetitions_of(repetitions)
    assert asked
    assert all(0 <= each < repetitions for each in asked)
