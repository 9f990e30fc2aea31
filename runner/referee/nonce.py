"""The numbers that nobody can know before the window opens.

A plan draws one secret. A nonce follows from the secret and from what the reference of the cell is, so that the
reference, its competitors and all platforms work on the same inputs. Which repetitions the referee asks for follows
from the secret too, and is told only after the window has closed.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

_SECRET_BYTES = 32
# How many repetitions of each round are asked for, where there are as many.
_ASKED = 2


@dataclass(frozen=True, kw_only=True)
class Handed:
    """What an earlier run drew for a case: its nonce, and the repetitions that it asked for."""

    nonce: str
    repetitions: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What the referee draws for one case.

    Attributes:
        nonce: 16 hexadecimal digits; it decides the inputs of each call.
        asked: fractions in [0, 1): which repetitions of a round the referee asks for.
        handed: repetitions that are asked for besides, because an earlier run asked for them.
    """

    nonce: str
    asked: tuple[float, ...]
    handed: tuple[int, ...] = ()

    def repetitions_of(self, repetitions: range) -> tuple[int, ...]:
        """The repetitions of a round that are asked for."""
        return tuple(sorted({repetitions[int(fraction * len(repetitions))] for fraction in self.asked}))


def audit_seed(secret: bytes, *, benchmark: str, case: str) -> int:
    """The seed of a training that nobody can know before its window opens: below 2**31, the same for all."""
    word = hmac.new(secret, f"audit\n{benchmark}\n{case}".encode(), hashlib.sha256).digest()
    return int.from_bytes(word[:4], "big") >> 1


def new_secret() -> bytes:
    """What one plan draws."""
    return secrets.token_bytes(_SECRET_BYTES)


def draw(secret: bytes, *, benchmark: str, case: str, seed: int) -> Draw:
    """What a plan's secret gives for a case.

    Args:
        secret: the plan's.
        benchmark: by its name.
        case: by its name.
        seed: of the reference's cell, which the gate compares with.
    """
    word = hmac.new(secret, f"{benchmark}\n{case}\n{seed}".encode(), hashlib.sha256).digest()
    asked = tuple(
        int.from_bytes(word[8 * index : 8 * index + 8], "big") / 2**64 for index in range(1, 1 + _ASKED)
    )
    return Draw(nonce=word[:8].hex(), asked=asked)
