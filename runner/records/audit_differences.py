"""The words of a comparison: its difference, its bound and its share of what is allowed agree."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.measured import GateCheck
from runner.records.record import Record
from runner.records.verdicts import OF_NO_FILE, bound_of
from runner.records.work import WorkOutput

_N = r"([0-9.e+-]+)"
# Where the difference is too large, the place and both numbers follow.
_AT = r"(?:; at \[[0-9, ]*\] \S+, the reference has \S+)?\Z"
_PLAIN = re.compile(rf"largest difference {_N} \(rtol {_N}, atol {_N}\){_AT}")
_SCALED = re.compile(rf"largest difference over largest magnitude {_N} \(bound {_N}\){_AT}")
_MEAN = re.compile(rf"root mean square of the differences over that of the reference {_N} \(bound {_N}\)\Z")
_DRIFT = re.compile(
    rf"largest difference over largest magnitude {_N} in after\.\S+ \(bound {_N} x {_N}, "
    r"by which the reference's after\.\S+ differs from double precision\)\Z"
)
# A figure is written with three digits, and a quotient of two is off by as much twice.
_DIGITS = 0.0051


def words(record: Record) -> Iterator[Contradiction]:
    """Each comparison's words follow from its rule, and its share follows from its words."""
    rules = {each.file: each for each in record.work.gate.outputs} if record.work else {}
    for index, check in enumerate(record.gate):
        file, _, name = check.check.partition(" ")
        if check.check in OF_NO_FILE or (record.work and file not in rules):
            continue
        why = _fault(check, name, rules.get(file))
        if why is not None:
            yield contradiction(
                f"{check.check}: {why}",
                *(f"gate.{index}.detail", f"gate.{index}.share", "work.gate.outputs"),
            )


def _fault(check: GateCheck, name: str, rule: WorkOutput | None) -> str | None:
    told = _told(check.detail)
    match told:
        case ("plain", difference, rtol, atol):
            own = rule is None or (rule.scaled is None and (rtol, atol) == _three(rule.rtol, rule.atol))
            fault = _of_plain(check, difference, rtol, atol)
        case ("scaled", difference, bound):
            own = rule is None or (
                rule.scaled is not None and bound == _bound(rule.scaled, tuple(rule.tensors.items()), name)
            )
            fault = _of_bound(check, difference, bound, 1)
        case ("mean", difference, bound):
            own = rule is None or (bool(rule.rms) and (bound,) == _three(rule.rms or 0.0))
            fault = _of_bound(check, difference, bound, 1)
        case ("drift", difference, times, growth):
            own = rule is None or bool(rule.drift and (times,) == _three(rule.drift))
            fault = _of_bound(check, difference, times * growth, 2)
        case _:
            return f'no comparison is told as "{check.detail[:80]}"'
    return fault if own else f'the words "{check.detail[:120]}" are of another rule than the work\'s'


# Most differences are 0, and their words are the same.
@lru_cache(maxsize=4096)
def _told(detail: str) -> tuple[Any, ...]:
    for kind, pattern in (("plain", _PLAIN), ("scaled", _SCALED), ("mean", _MEAN), ("drift", _DRIFT)):
        if found := pattern.match(detail):
            return (kind, *map(float, found.groups()))
    return ()


@lru_cache(maxsize=4096)
def _bound(scaled: float, tensors: tuple[tuple[str, float], ...], name: str) -> float:
    return _three(bound_of(scaled, dict(tensors), name))[0]


def _of_plain(check: GateCheck, difference: float, rtol: float, atol: float) -> str | None:
    """A difference is divided by atol and a part of the reference's value, so that atol alone bounds the share."""
    if (difference == 0) != (check.share == 0):
        return f"the largest difference is {difference:g}, and its share is {check.share}"
    if check.share is not None and atol > 0 and check.share > difference / atol * (1 + _DIGITS):
        return f"the share is {check.share:.6g}, and {difference:g} of atol {atol:g} is less"
    if rtol == 0 and atol > 0:
        return _of_bound(check, difference, atol, 1)
    return None


def _of_bound(check: GateCheck, difference: float, bound: float, rounded: int) -> str | None:
    if difference == 0 or bound == 0:
        # Nothing is allowed, or nothing differs: the share is then infinite, which no record holds, or 0.
        wrong = (difference == 0) != (check.share == 0)
    else:
        share = difference / bound
        wrong = check.share is None or abs(check.share - share) > share * _DIGITS * rounded
    return f"{difference:g} of {bound:g} is no share of {check.share}" if wrong else None


def _three(*values: float) -> tuple[float, ...]:
    return tuple(float(f"{value:g}") for value in values)


RULES: tuple[Rule, ...] = (words,)
