"""The contract between the runner and an implementation: its arguments, and the valid lines of its stdout."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.records.failure import Failure, FailureKind
from runner.referee.messages import malformed, short, unreadable
from runner.system.schema import schema

SCHEMA = Path(__file__).parents[1] / "schemas" / "measurement.schema.json"
# With it an implementation answers the referee on its stdin.
REFEREE = "--referee"


def arguments(cases: Iterable[tuple[str, dict[str, Any]]], seed: int) -> list[str]:
    """The arguments that the runner adds to an implementation's command, before ``--input`` and ``--output``."""
    result: list[str] = []
    for case, parameters in cases:
        result += ["--case", case, "--parameters", json.dumps(parameters, sort_keys=True)]
    return [*result, "--seed", str(seed)]


@dataclass
class Reader:
    """Reads an implementation's stdout line by line while it runs, and judges the whole at the end."""

    cases: Sequence[str]
    on_progress: Callable[[float], None]
    measurements: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str | None, Failure] = field(default_factory=dict)

    def line(self, text: str, at: float = 0.0) -> None:
        """Take one line, whenever it was read. A breach becomes a failure of its case, or of all cases."""
        del at
        # No later line can save a failed launch, so the rest is not parsed.
        if None in self.failures or not text.strip():
            return
        event = _parse(text)
        if isinstance(event, Failure):
            self.failures.setdefault(None, event)
        elif event["event"] == "progress":
            self.on_progress(min(1.0, event["done"] / event["total"]))
        else:
            self._measurement(event)

    def _measurement(self, event: dict[str, Any]) -> None:
        case = event["case"]
        if case not in self.cases:
            self.failures.setdefault(
                None,
                Failure(
                    kind=FailureKind.MALFORMED_OUTPUT,
                    detail=f'a measurement for the case "{case}", not asked for',
                ),
            )
        elif case in self.measurements:
            self.failures[case] = Failure(
                kind=FailureKind.DOUBLED_MEASUREMENT, detail="printed more than one measurement for this case"
            )
        else:
            self.measurements[case] = event

    def measurement(self, case: str) -> dict[str, Any] | None:
        """The measurement of a case; None where there is none."""
        return self.measurements.get(case)

    def failure_of(self, case: str) -> Failure | None:
        """Why this case has no valid measurement, or None."""
        failure = self.failures.get(case) or self.failures.get(None)
        if failure is None and case not in self.measurements:
            return Failure(
                kind=FailureKind.MISSING_MEASUREMENT,
                detail="ended well without printing a measurement for this case",
            )
        return failure


def _parse(text: str) -> dict[str, Any] | Failure:
    if (refused := unreadable(text)) is not None:
        return refused
    try:
        event = json.loads(text)
        # Python's parser accepts NaN and Infinity. JSON has neither, and no figure may be one.
        finite = _finite(event)
    except (ValueError, RecursionError):
        return malformed(f"stdout holds a line that is not JSON: {short(text)}")
    if not isinstance(event, dict):
        return malformed(f"stdout holds a line that is not an event: {short(text)}")
    if not finite:
        return Failure(kind=FailureKind.NOT_FINITE, detail=f"NaN or infinity in a figure: {short(text)}")
    # Errors about a union of two shapes are unreadable, so the line is validated against the shape that its event
    # names.
    kind = event.get("event")
    if kind not in ("progress", "measurement"):
        return malformed(f"an unknown event: {short(text)}")
    claimed = schema(SCHEMA, kind)
    return event if claimed.allows(event) else malformed(claimed.why_not(event))


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(each) for each in value.values())
    if isinstance(value, list):
        return all(_finite(each) for each in value)
    return True
