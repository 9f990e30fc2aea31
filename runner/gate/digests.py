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
    """SHA-256 over one element of each output of each call, at places that the nonce chooses; its first 16 digits.

    An element counts as the eight bytes of a little-endian f64.

    Raises:
        Refused: an output has not one entry a call.
    """
    word = hashlib.sha256()
    for call in range(calls):
        index = repetition * calls + call
        for stream, output in enumerate(outputs, start=1):
            if output.shape[:1] != (calls,) or not output[0].size:
                shape = f"an output of repetition {repetition} has the shape {output.shape}"
                detail = f"{shape}, not one entry for each of {calls} calls"
                raise Refused(FailureKind.WRONG_OUTPUT, detail)
            flat = output[call].reshape(-1)
            element = flat[number(nonce, stream, index) % flat.size]
            word.update(np.array(element, dtype="<f8").tobytes())
    return word.hexdigest()[:_DIGITS]
