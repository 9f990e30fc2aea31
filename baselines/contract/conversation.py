"""An implementation's side of the conversation with a referee (docs/protocol.md): ready, then an answer to each order."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from baselines.contract import protocol


@dataclass(frozen=True, kw_only=True)
class Round:
    """What a round gives.

    Attributes:
        metrics: figures under names that end in their unit; a list holds one for each repetition.
        counts: how much work was done, counted where it happened.
        digests: one for each repetition.
        timed_seconds: all that the metrics claim as timed.
    """

    metrics: Mapping[str, float | Sequence[float]]
    counts: Mapping[str, int]
    digests: Sequence[str]
    timed_seconds: float


class Case(Protocol):
    """One case that a referee may ask for."""

    def round(self, nonce: str, first: int, repetitions: int, *, seed: int | None = None) -> Round:
        """Do so many repetitions from the first on. None may be asked for. A training is told its seed."""

    def write(self, nonce: str, repetition: int, folder: Path) -> None:
        """Write the outputs of a repetition."""


def answer(request: protocol.Request, cases: Mapping[str, Case]) -> None:
    """Do what each line on stdin says, until its end."""
    protocol.print_event({"event": "ready"})
    for line in sys.stdin:
        heard = time.perf_counter()
        order = json.loads(line)
        name = order["case"]
        if order["event"] == "go":
            asked = order["nonce"], order["first"], order["repetitions"]
            done = cases[name].round(*asked, seed=order.get("seed"))
            protocol.print_line(_done(name, done, heard))
        else:
            _write(request, name, cases[name], order)
            protocol.print_event({"event": "written", "case": name})


def _done(name: str, done: Round, heard: float) -> str:
    """The answer to `go`, as text: what is spent on the text belongs to what is claimed."""
    event: dict[str, Any] = {
        "event": "done",
        "case": name,
        "metrics": dict(done.metrics),
        "counts": dict(done.counts),
        "digests": list(done.digests),
        "memory": protocol.memory(),
    }
    text = json.dumps(event, allow_nan=False)
    between = max(0.0, time.perf_counter() - heard - done.timed_seconds)
    return f'{text[:-1]}, "between_seconds": {between}}}'


def _write(request: protocol.Request, name: str, case: Case, order: Mapping[str, Any]) -> None:
    """Write the outputs of some repetitions, into a folder each."""
    if request.output_directory is None:
        protocol.refuse("--output is needed; the referee asked for outputs")
    for repetition in order["repetitions"]:
        folder = protocol.made_directory(request.output_directory / name / str(repetition))
        case.write(order["nonce"], repetition, folder)
