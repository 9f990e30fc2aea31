"""The numbers that a nonce stands for: what a referee's window decides of an operation's inputs, and of its digests."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_DIGITS = 16

Numbers = NDArray[np.uint64]


def numbers(nonce: str, stream: int, first: int, count: int) -> Numbers:
    """Numbers below 2**64 of a stream, from an index on: SplitMix64 (Steele et al., 2014) begun at the nonce.

    Stream 0 decides the input of each call, by the number of the call in its round; stream 1 the places of digests.
    """
    index = np.arange(first + 1, first + count + 1, dtype=np.uint64) + np.uint64(stream << 32)
    value = np.uint64(int(nonce, 16)) + index * _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return np.asarray(value ^ (value >> np.uint64(31)))


@dataclass(frozen=True, kw_only=True)
class Places:
    """Which element of each call's outputs a digest holds.

    Attributes:
        outputs: for each call of a round, which of its outputs.
        elements: for each call, which element of that output.
    """

    outputs: list[int]
    elements: list[int]

    @classmethod
    def of(cls, nonce: str, *, sizes: Sequence[int], first: int, count: int) -> "Places":
        """Those of calls from the first on: an element of all outputs of a call laid end to end.

        Args:
            nonce: of the window.
            sizes: how many elements each output of a call has.
            first: the number of the first call in its round.
            count: how many calls.
        """
        ends = np.cumsum(sizes)
        places = numbers(nonce, 1, first, count) % np.uint64(ends[-1])
        outputs = np.searchsorted(ends, places, side="right")
        return cls(
            outputs=outputs.tolist(),
            elements=(places - (ends - sizes)[outputs].astype(np.uint64)).tolist(),
        )


def digest(elements: Sequence[float]) -> str:
    """SHA-256 over the elements as little-endian f64, its first 16 digits."""
    return hashlib.sha256(np.array(elements, dtype="<f8").tobytes()).hexdigest()[:_DIGITS]
