"""The gate: which checks it made, how they came out, and the failure that follows from them."""

from collections.abc import Iterator

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.failure import FailureKind
from runner.records.measured import GateCheck
from runner.records.record import Record
from runner.records.verdicts import OF_NO_FILE
from runner.records.work import WorkFacts

_FIRST = ("counts", "times")
_FAILS_AS = {
    "counts": FailureKind.WRONG_COUNTS.value,
    "times": FailureKind.IMPOSSIBLE_TIME.value,
    "window": FailureKind.UNACCOUNTED_TIME.value,
    "audit": FailureKind.PREPARED_WORK.value,
}
# What the gate judges after all outputs, in this order.
_LAST = ("window", "episodes", "replay", "audit replay", "gymnasium", "audit")
# What the gate refuses before it could compare.
_REFUSED = frozenset(
    kind.value
    for kind in (
        FailureKind.MISSING_METRIC,
        FailureKind.MISSING_OUTPUT,
        FailureKind.UNREADABLE_OUTPUT,
        FailureKind.WRONG_OUTPUT,
        FailureKind.NOT_FINITE,
        # A process that lost a child at the memory limit may miss an output.
        FailureKind.OUT_OF_MEMORY,
    )
)
_ONLY_OF_THE_GATE = frozenset(
    {
        *_FAILS_AS.values(),
        *(
            kind.value
            for kind in (
                FailureKind.MISSING_METRIC,
                FailureKind.MISSING_OUTPUT,
                FailureKind.WRONG_OUTPUT,
            )
        ),
    }
)
_KNOWN = frozenset(kind.value for kind in FailureKind)
_DRIFTING = "after.*"


def passed(record: Record) -> Iterator[Contradiction]:
    """A cell passes where the gate judged it and each check passed."""
    failed = [each.check for each in record.gate if not each.passed]
    if record.failure is None and (failed or not record.gate):
        what = f"the checks {', '.join(failed)} failed" if failed else "the gate made no check"
        yield contradiction(f"{what}, and the cell passed", "gate", "failure")


def failed(record: Record) -> Iterator[Contradiction]:
    """The first check that failed is the reason why the cell failed."""
    if record.failure is None:
        return
    kind = record.failure.kind
    first = next((each for each in record.gate if not each.passed), None)
    if first is not None:
        expected = _FAILS_AS.get(first.check, FailureKind.WRONG_OUTPUT.value)
        if kind != expected or not record.failure.detail.startswith(f"{first.check}:"):
            yield contradiction(
                f"the check {first.check} failed first, which is {expected}, and the failure is {kind}: "
                f'"{record.failure.detail[:80]}"',
                *("gate", "failure"),
            )
    elif record.gate and kind in _KNOWN - _REFUSED:
        yield contradiction(
            f"the gate judged the cell, no check failed, and the failure is {kind}", "gate", "failure.kind"
        )
    elif not record.gate and kind in _ONLY_OF_THE_GATE:
        yield contradiction(f"the gate made no check, and the failure is {kind}", "gate", "failure.kind")


def judged(record: Record) -> Iterator[Contradiction]:
    """The gate judges counts and times first, each check once, and only what was measured."""
    if not record.gate:
        return
    names = [each.check for each in record.gate]
    if tuple(names[:2]) != _FIRST:
        yield contradiction(
            f"the gate's first checks are {', '.join(names[:2])}, and it judges counts and times first",
            "gate",
        )
    if doubled := {each for each in names if names.count(each) > 1} if len(set(names)) != len(names) else ():
        yield contradiction(f"the gate made {', '.join(sorted(doubled))} more than once", "gate")
    if record.measurement is None:
        yield contradiction("the gate judged the cell, and nothing was measured", "gate", "measurement")


def shares(record: Record) -> Iterator[Contradiction]:
    """A check of differences passes where its share of what is allowed is at most 1."""
    for index, each in enumerate(record.gate):
        if each.check in OF_NO_FILE:
            if each.share is not None:
                yield contradiction(
                    f"the check {each.check} has the share {each.share:.6g}, and it is none of differences",
                    *(f"gate.{index}.share", f"gate.{index}.check"),
                )
        elif each.passed != (each.share is not None and each.share <= 1):
            yield contradiction(
                f"{each.check} {'passed' if each.passed else 'failed'} with {_share(each)} of what is allowed",
                *(f"gate.{index}.passed", f"gate.{index}.share"),
            )


def outputs(record: Record) -> Iterator[Contradiction]:
    """The gate compares the files that the work names, in their order, and all of them where the cell passed."""
    if not record.work or not record.gate:
        return
    files = [each.file for each in record.work.gate.outputs]
    compared = [each.check for each in record.gate if each.check not in OF_NO_FILE]
    unknown = [each for each in compared if _file(each) not in files]
    if unknown or (compared and record.work.differs):
        yield contradiction(
            f"the gate compared {', '.join(unknown or compared)}, which its work does not ask for", *_COMPARED
        )
        return
    if compared != sorted(compared, key=lambda each: (files.index(_file(each)), _drifts(each), each)):
        yield contradiction("the gate's checks are not in the order in which it makes them", *_COMPARED)
    missing = [each for each in files if each not in {_file(check) for check in compared}]
    if record.failure is None and not record.work.differs and missing:
        yield contradiction(f"the cell passed, and {', '.join(missing)} was not compared", *_COMPARED)


def others(record: Record) -> Iterator[Contradiction]:
    """Where the cell passed, windows, episodes and audits were judged if there are any, and only then."""
    if not record.work or record.failure:
        return
    names = [each.check for each in record.gate]
    due = {
        "window": record.work.refereed is True,
        "digest": record.work.refereed is True,
        "episodes": record.work.gate.episodes is not None,
        "audit": bool(record.referee and record.referee.audit),
    }
    for name, is_due in due.items():
        if (name in names) != is_due:
            yield contradiction(
                f"the cell passed, and its {name} {'was not' if is_due else 'was'} judged",
                *("gate", _DECIDES[name]),
            )
    if not record.work.gate.replay and {*names} & {*_REPLAYS}:
        yield contradiction(
            "the gate replayed a training that its work does not ask it to", "gate", "work.gate.replay"
        )
    last = [each for each in names if each in _LAST]
    if last and (names[-len(last) :] != last or last != sorted(last, key=_LAST.index)):
        yield contradiction(f"the gate judges {', '.join(_LAST)} last, in this order", "gate")


def of_itself(record: Record) -> Iterator[Contradiction]:
    """The reference that others are compared with is compared with itself, and so differs by nothing."""
    work = record.work
    if not work or not _is_reference(record, work):
        return
    for index, each in enumerate(record.gate):
        if each.share:
            yield contradiction(
                f"the reference is compared with itself, and {each.check} differs by {_share(each)} of what is allowed",
                *(f"gate.{index}.share", "work.reference"),
            )


_COMPARED = ("gate", "work.gate.outputs")
_REPLAYS = ("replay", "audit replay", "gymnasium")
_DECIDES = {
    "window": "work.refereed",
    "digest": "work.refereed",
    "episodes": "work.gate.episodes",
    "audit": "referee.audit",
}


def _is_reference(record: Record, work: WorkFacts) -> bool:
    return (record.implementation, record.seed) == (work.reference.implementation, work.reference.seed)


def _file(check: str) -> str:
    return check.partition(" ")[0]


def _drifts(check: str) -> bool:
    return check.partition(" ")[2] == _DRIFTING


def _share(check: GateCheck) -> str:
    return "no finite share" if check.share is None else f"{check.share:.6g}"


RULES: tuple[Rule, ...] = (
    passed,
    failed,
    judged,
    shares,
    outputs,
    others,
    of_itself,
)
