"""What a launch and its referee say to one another: one line of JSON each, docs/protocol.md."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from runner.records.failure import Failure, FailureKind
from runner.records.measured import Memory
from runner.records.part import Amount, Figure, FigureName, Name, Part
from runner.records.refereed import SIZES
from runner.system.printable import one_line

# A line needs one object or list for each metric. A megabyte of brackets would become a gigabyte of objects.
_MOST_BRACKETS = 2000
MOST_REPETITIONS = SIZES[-1]

Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
_Claims = Annotated[tuple[Figure, ...], Meta(max_length=MOST_REPETITIONS)]
_UNKNOWN = Memory(vmhwm_bytes=None, cgroup_peak_bytes=None)


class Ready(Part, frozen=True, kw_only=True, tag="ready", tag_field="event"):
    """Everything is imported, compiled and read; nothing that the nonce decides has been made."""


class Progress(Part, frozen=True, kw_only=True, tag="progress", tag_field="event"):
    """How far the work is."""

    done: Annotated[float, Meta(ge=0, le=1e15)]
    total: Annotated[float, Meta(gt=0, le=1e15)]
    unit: Annotated[str, Meta(min_length=1, max_length=40)]


class Done(Part, frozen=True, kw_only=True, tag="done", tag_field="event"):
    """A round is over: the window closes.

    Attributes:
        case: The case that the referee named.
        metrics: What the implementation claims: one figure a repetition, or one figure.
        counts: How much work one repetition did.
        between_seconds: What the implementation claims to have spent between its timed repetitions.
        digests: One of each repetition's output, in their order.
        memory: What the process knows of its own peaks.
    """

    case: Name
    metrics: Annotated[dict[FigureName, Figure | _Claims], Meta(max_length=1000)]
    counts: Annotated[dict[FigureName, Amount], Meta(max_length=1000)]
    between_seconds: Figure
    digests: Annotated[tuple[Digest, ...], Meta(max_length=MOST_REPETITIONS)]
    memory: Memory = _UNKNOWN


class Written(Part, frozen=True, kw_only=True, tag="written", tag_field="event"):
    """The files that the referee asked for lie in the output directory."""

    case: Name


Message = Ready | Progress | Done | Written
_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def parse(text: str) -> Message | Failure:
    """The message on a line of stdout, or the failure that the line is."""
    if (refused := unreadable(text)) is not None:
        return refused
    try:
        message: Message = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        if _not_finite(text):
            return Failure(kind=FailureKind.NOT_FINITE, detail=f"infinity in a figure: {short(text)}")
        return malformed(f"{error}: {short(text)}")
    except (msgspec.DecodeError, RecursionError):
        if _not_finite(text):
            return Failure(kind=FailureKind.NOT_FINITE, detail=f"NaN or infinity in a figure: {short(text)}")
        return malformed(f"stdout holds a line that is not JSON: {short(text)}")
    return message


def go(case: str, nonce: str, repetitions: range, *, seed: int | None = None) -> str:
    """The line that opens a window. A training is told its seed."""
    event: dict[str, Any] = {"event": "go", "case": case, "nonce": nonce}
    event |= {"first": repetitions.start, "repetitions": len(repetitions)}
    return json.dumps(event if seed is None else {**event, "seed": seed})


def outputs(case: str, nonce: str, repetitions: Sequence[int]) -> str:
    """The line that asks for the output files of some repetitions."""
    return json.dumps({"event": "outputs", "case": case, "nonce": nonce, "repetitions": list(repetitions)})


def unreadable(text: str) -> Failure | None:
    """Why a line of stdout must not be parsed, or None."""
    # Decoding puts this character where the bytes were not UTF-8.
    if "\ufffd" in text:
        return malformed(f"stdout holds a line that is not UTF-8: {short(text)}")
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return malformed(f"stdout holds a line that is full of brackets: {short(text)}")
    return None


def malformed(detail: str) -> Failure:
    """The failure of a line that breaks the protocol."""
    return Failure(kind=FailureKind.MALFORMED_OUTPUT, detail=detail)


def _not_finite(text: str) -> bool:
    """Whether Python's parser, which lets them through, finds a figure that is not finite."""
    seen: list[str] = []
    try:
        json.loads(text, parse_constant=seen.append, parse_float=lambda each: _noted(each, seen))
    except (ValueError, RecursionError):
        return False
    return bool(seen)


def _noted(number: str, seen: list[str]) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        seen.append(number)
    return value


def short(text: str) -> str:
    """The beginning of a line, for a message."""
    return one_line(text, 160)
