"""Compare output files with the reference's: element by element, tensor by tensor, on average, or by drift."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from runner.gate.arrays import Array, Unreadable, read_arrays
from runner.gate.check import Check, Refused
from runner.gate.differences import as_floats, blocks, differences
from runner.matrix import OutputCheck
from runner.records import verdicts
from runner.records.failure import FailureKind

# The prefixes of tensors after many updates: in the measured precision, and in double precision.
_AFTER, _EXACT = "after.", "exact."


def read_output(path: Path) -> dict[str, Array]:
    """The arrays of a .npy (under the empty name) or .safetensors file.

    Raises:
        Refused: the file is missing, or holds no arrays, or holds NaN or infinity.
    """
    if path.is_symlink() or not path.is_file():
        raise Refused(FailureKind.MISSING_OUTPUT, f"{path.name} was not written")
    try:
        arrays = read_arrays(path)
    except Unreadable as error:
        raise Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {error}") from error
    for name, array in arrays.items():
        if not all(np.isfinite(block).all() for (block,) in blocks(array)):
            raise Refused(
                FailureKind.NOT_FINITE, f"{path.name} {name}: NaN or infinity in an output".replace("  ", " ")
            )
    return arrays


def compare(output: OutputCheck, mine: Mapping[str, Array], theirs: Mapping[str, Array]) -> list[Check]:
    """One check for each array of the reference's file, and one for the drift where it is judged.

    Raises:
        Refused: an array is missing or of another shape.
    """
    drifting = _drifting(output, theirs) if output.drift is not None else []
    plain = [name for name in theirs if output.drift is None or not name.startswith((_AFTER, _EXACT))]
    expected = sorted([*plain, *(_AFTER + name for name in drifting)])
    missing = [name for name in expected if name not in mine]
    if missing:
        raise Refused(FailureKind.MISSING_OUTPUT, f"{output.file} lacks {', '.join(missing)}")
    for name in expected:
        _require_shape(output.file, name, mine[name], theirs[name])
    # The difference of two finite numbers may overflow. Infinity is then the difference, without a warning.
    with np.errstate(over="ignore", divide="ignore"):
        differ = _difference if output.rms is None else _mean_difference
        checks = [differ(output, name, mine[name], theirs[name]) for name in sorted(plain)]
        if output.drift is not None:
            checks.append(_drift(output.file, output.drift, drifting, mine, theirs))
    return checks


def bound_of(output: OutputCheck, name: str) -> float:
    """The bound of one tensor: its own, else that of the longest matching pattern, else that of the file."""
    return verdicts.bound_of(output.scaled, output.tensors, name)


def _drifting(output: OutputCheck, theirs: Mapping[str, Array]) -> list[str]:
    """The names, without prefix, of the tensors that the reference computed in both precisions."""
    after, exact = (
        {name.removeprefix(prefix) for name in theirs if name.startswith(prefix)}
        for prefix in (_AFTER, _EXACT)
    )
    if after != exact or not after:
        one_sided = [
            f"{prefix}{name}"
            for prefix, names in ((_AFTER, exact - after), (_EXACT, after - exact))
            for name in sorted(names)
        ]
        raise Refused(
            FailureKind.MISSING_OUTPUT,
            f"the reference's {output.file} lacks {', '.join(one_sided) or f'{_AFTER}* and {_EXACT}*'}",
        )
    for name in after:
        _require_shape(output.file, _EXACT + name, theirs[_AFTER + name], theirs[_EXACT + name])
    return sorted(after)


def _require_shape(file: str, name: str, array: Array, reference: Array) -> None:
    # A scalar may be stored with the shape () or (1,).
    if array.shape != reference.shape and (array.size, reference.size) != (1, 1):
        raise Refused(
            FailureKind.WRONG_OUTPUT,
            f"{f'{file} {name}'.strip()} has the shape {array.shape}, the reference {reference.shape}",
        )


def _difference(output: OutputCheck, name: str, array: Array, reference: Array) -> Check:
    scaled = 0.0 if output.scaled is None else bound_of(output, name) * _magnitude(reference)
    worst, share, at, before = 0.0, 0.0, 0, 0
    for mine, theirs in blocks(array, reference):
        difference, r = differences(mine, theirs), as_floats(theirs)
        worst = max(worst, float(difference.max()))
        bounds = output.atol + output.rtol * np.abs(r) if output.scaled is None else np.full_like(r, scaled)
        # 0 / 0 means equal values where no difference is allowed.
        shares = np.divide(difference, bounds, out=np.zeros_like(difference), where=difference > 0)
        largest = int(shares.argmax())
        # No number: infinity of infinity. It is kept.
        if not (np.isnan(share) or shares[largest] <= share):
            share, at = float(shares[largest]), before + largest
        before += difference.size
    if output.scaled is None:
        detail = f"largest difference {worst:.3g} (rtol {output.rtol:g}, atol {output.atol:g})"
    else:
        bound = bound_of(output, name)
        detail = (
            f"largest difference over largest magnitude {_relative(array, reference):.3g} (bound {bound:g})"
        )
    if share > 1:
        where = ", ".join(str(int(index)) for index in np.unravel_index(at, reference.shape or (1,)))
        detail += f"; at [{where}] {_exactly(array, at)}, the reference has {_exactly(reference, at)}"
    return Check(
        check=f"{output.file} {name}".strip(),
        passed=share <= 1,
        detail=detail,
        share=share if np.isfinite(share) else None,
    )


def _mean_difference(output: OutputCheck, name: str, array: Array, reference: Array) -> Check:
    """Check the root mean square of the differences over that of the reference; 0 where nothing differs."""
    squares = [
        (float(np.square(differences(mine, theirs)).sum()), float(np.square(as_floats(theirs)).sum()))
        for mine, theirs in blocks(array, reference)
    ]
    # An empty array has no block.
    pairs = squares or [(0.0, 0.0)]
    of_differences, of_reference = (math.sqrt(math.fsum(each)) for each in zip(*pairs, strict=True))
    found = float(np.divide(of_differences, of_reference)) if of_differences else 0.0
    bound = output.rms or 0.0
    share = found / bound
    return Check(
        check=f"{output.file} {name}".strip(),
        passed=share <= 1,
        detail=f"root mean square of the differences over that of the reference {found:.3g} (bound {bound:g})",
        share=share if np.isfinite(share) else None,
    )


def _drift(
    file: str,
    times: float,
    names: Sequence[str],
    mine: Mapping[str, Array],
    theirs: Mapping[str, Array],
) -> Check:
    """Check the drift. Rounding grows over many updates, so the bound is a multiple of the reference's own growth."""
    own = {name: _relative(theirs[_AFTER + name], theirs[_EXACT + name]) for name in names}
    found = {name: _relative(mine[_AFTER + name], theirs[_AFTER + name]) for name in names}
    worst, loosest = max(found, key=found.__getitem__), max(own, key=own.__getitem__)
    bound = times * own[loosest]
    share = 0.0 if found[worst] == 0 else float(np.divide(found[worst], bound))
    return Check(
        check=f"{file} {_AFTER}*",
        passed=share <= 1,
        detail=f"largest difference over largest magnitude {found[worst]:.3g} in {_AFTER}{worst} (bound {times:g} x "
        f"{own[loosest]:.3g}, by which the reference's {_AFTER}{loosest} differs from double precision)",
        share=share if np.isfinite(share) else None,
    )


def _relative(array: Array, reference: Array) -> float:
    """The largest difference over the reference's largest magnitude; the difference alone where the magnitude is 0."""
    worst = max((float(differences(*each).max()) for each in blocks(array, reference)), default=0.0)
    magnitude = _magnitude(reference)
    return worst / magnitude if magnitude > 0 else worst


def _magnitude(array: Array) -> float:
    return max((float(np.abs(as_floats(each)).max()) for (each,) in blocks(array)), default=0.0)


def _exactly(array: Array, at: int) -> str:
    """One number for a message. A whole number keeps all digits, because only its last one may differ."""
    value = array.ravel()[at]
    return f"{value:.9g}" if array.dtype.kind == "f" else str(int(value))
