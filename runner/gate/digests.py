"""A digest that was given before the referee asked, against the files that came afterwards."""

from collections.abc import Container, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from runner.gate.arrays import Array
from runner.gate.check import Check, Refused
from runner.gate.outputs import read_output
from runner.matrix import Gate
from runner.records.failure import FailureKind

_WORD_BYTES = 8


def check_digest(said: str, arrays: Iterable[Array], *, repetition: int) -> Check:
    """Whether the outputs of a repetition give the digest that was said of them.

    Args:
        said: the digest of the `done` message.
        arrays: of the repetition's files, all that the digest covers.
        repetition: its number.
    """
    found = digest(arrays)
    same = found == said
    detail = f"repetition {repetition} has {said}"
    return Check(check="digest", passed=same, detail=detail if same else f"{detail}, its files give {found}")


def digest(arrays: Iterable[Array]) -> str:
    """The sum, modulo 2**64, of the 64-bit words of all arrays' bytes, as 16 hexadecimal digits.

    Zeros fill the last word of each array. Floats of 8 and 16 bits count as the f32 that the gate makes of them.
    """
    return f"{sum(map(_words, arrays)) % 2**64:016x}"


def digested(
    gate: Gate,
    folder: Path,
    files: Mapping[str, Mapping[str, Array]],
    *,
    known: Path | None,
    same_work: bool = True,
) -> Iterator[Array]:
    """The arrays of a repetition that its digest covers.

    Args:
        gate: of the benchmark.
        folder: where the repetition's files lie.
        files: the arrays of those that were read already.
        known: where files with the same arrays lie; None where nothing is known of them.
        same_work: False for an implementation whose work differs. It may have environments of its own, of which
            nothing is logged.

    Raises:
        Refused: a file is missing, holds no arrays, or holds one that is not known.
    """
    for file, pattern in gate.digested.items():
        if not same_work and gate.replay and file == gate.replay.actions and not (folder / file).exists():
            continue
        arrays = files[file] if file in files else read_output(folder / file)
        if known is not None and (known / file).exists():
            _require_known(file, arrays, read_output(known / file))
        yield from (array for name, array in arrays.items() if fnmatchcase(name, pattern))


def _require_known(file: str, mine: Iterable[str], known: Container[str]) -> None:
    """See that a file has no arrays beside those that are known: such an array could make any digest true."""
    unknown = sorted(name for name in mine if name not in known)
    if unknown:
        raise Refused(
            FailureKind.WRONG_OUTPUT,
            f"{file} holds {', '.join(unknown[:5])}, which the reference's file lacks",
        )


def _words(array: Array) -> int:
    data = np.ascontiguousarray(array).reshape(-1)
    if data.dtype == np.float16:
        data = data.astype("<f4")
    if data.nbytes % _WORD_BYTES:
        filled = data.tobytes().ljust(-(-data.nbytes // _WORD_BYTES) * _WORD_BYTES, b"\0")
        return int(np.frombuffer(filled, "<u8").sum(dtype=np.uint64))
    return int(data.view("<u8").sum(dtype=np.uint64))
