"""A digest that was given before the referee asked, against the files that came afterwards."""

import hashlib
from collections.abc import Sequence

import numpy as np

from runner.gate.arrays import Array
from runner.gate.check import Check, Refused
from runner.records.failure import FailureKind
from runner.referee.nonce import number

_DIGITS = 16


def check_digest(said: str, outputs: Sequence[Array], *, nonce: str, repetition: int, calls: int) -> Check:
    """Whether the outputs of a repetition give the digest that was said of them.

    Args:
        said: the digest of the `done` message.
        outputs: of the repetition, in the gate's order; the first axis of each is the call.
        nonce: of the window.
        repetition: counted from 0.
        calls: in a repetition.

    Raises:
        Refused: an output has not one entry a call.
    """
    found = digest(outputs, nonce=nonce, repetition=repetition, calls=calls)
    same = found == said
    detail = f"repetition {repetition} has {said}"
    return Check(check="digest", passed=same, detail=detail if same else f"{detail}, its files give {found}")


def digest(outputs: Sequence[Array], *, nonce: str, repetition: int, calls: int) -> str:
    """SHA-256 over one element of each call, at places that the nonce chooses; its first 16 digits.

    The outputs of a call count as laid end to end, an element as the eight bytes of a little-endian f64.

    Raises:
        Refused: an output has not one entry a call.
    """
    elements = []
    for call in range(calls):
        place = number(nonce, 1, repetition * calls + call) % sum(_size(each, calls) for each in outputs)
        for output in outputs:
            if place < output[call].size:
                elements.append(output[call].reshape(-1)[place])
                break
            place -= output[call].size
    return hashlib.sha256(np.array(elements, dtype="<f8").tobytes()).hexdigest()[:_DIGITS]


def _size(output: Array, calls: int) -> int:
    """How many elements each call has.

    Raises:
        Refused: it has not one entry a call.
    """
    if output.shape[:1] != (calls,) or not output.size:
        detail = f"an output has the shape {output.shape}, not one entry for each of {calls} calls"
        raise Refused(FailureKind.WRONG_OUTPUT, detail)
    return output.size // calls
