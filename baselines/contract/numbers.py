"""The numbers that a nonce stands for: what a referee's window decides of an operation's inputs, and of its digests."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_DIGITS = 16

Numbers = NDArray[np.uint64]


def numbers(nonce: str, stream: int, first: int, count: int) -> Numbers:
    """Numbers below 2**64 of a stream, from an index on: SplitMix64 (Steele et al., 2014) begun at the nonce.

    Stream 0 decides the input of each call, by the number of the call; stream k the places of a digest in the k-th
    output.
    """
    index = np.arange(first + 1, first + count + 1, dtype=np.uint64) + np.uint64(stream << 32)
    value = np.uint64(int(nonce, 16)) + index * _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return np.asarray(value ^ (value >> np.uint64(31)))


class Digests:
    """The digests of a round's repetitions: one element of each output of each call, at places of the nonce."""

    def __init__(self, nonce: str, *, calls: int, sizes: Sequence[int], repetitions: Iterable[int]) -> None:
        """Work out the places.

        Args:
            nonce: of the window.
            calls: in a repetition.
            sizes: how many elements each output of a call has.
            repetitions: which of them will be asked for.
        """
        self._places = {
            repetition: np.stack(
                [
                    numbers(nonce, stream, repetition * calls, calls) % np.uint64(size)
                    for stream, size in enumerate(sizes, start=1)
                ],
                axis=1,
            ).tolist()
            for repetition in repetitions
        }

    def of(self, repetition: int, outputs: Iterable[Sequence[NDArray[np.generic]]]) -> str:
        """The digest of a repetition: SHA-256 over the elements as little-endian f64, its first 16 digits.

        Args:
            repetition: counted from 0.
            outputs: of each call, its arrays.
        """
        elements = [
            array.item(place)
            for places, arrays in zip(self._places[repetition], outputs, strict=True)
            for place, array in zip(places, arrays, strict=True)
        ]
        return hashlib.sha256(np.array(elements, dtype="<f8").tobytes()).hexdigest()[:_DIGITS]
