"""Where a training's time goes: its loop says at each border which phase has just ended.

A watch reads a monotonic clock at each border. What passed since the border before belongs to the phase that ends, so the
phases add up to the whole loop. An uninstrumented training has the same borders and no clock behind them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ParamSpec, Protocol, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Layer(Enum):
    """Whose code works in a phase."""

    RUST = "rust"
    PYTHON = "python"
    """Python, NumPy and Gymnasium."""
    PYTORCH = "pytorch"


@dataclass(frozen=True)
class Phase:
    """A part of a training's loop."""

    name: str
    """In small letters with underscores; a page shows it with blanks."""
    layer: Layer

    @property
    def key(self) -> str:
        """Its name in a measurement."""
        return f"{self.layer.value}_{self.name}"


class Watch(Protocol):
    """What a training's loop tells of its phases."""

    def start(self) -> float:
        """Begin; the reading of `time.perf_counter` at which the loop began."""

    def ended(self, phase: int) -> None:
        """The phase of that number has just ended."""

    def stop(self, phase: int) -> float:
        """The loop has ended with that phase; the reading of the clock then."""

    def crossing(self, name: str, call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """A function of our module as the training is to call it; the name is in small letters with underscores."""

    def metrics(self) -> Mapping[str, float]:
        """The seconds of each phase."""

    def counts(self) -> Mapping[str, int]:
        """How often each phase ended, and how often each function was called."""


MakeWatch = Callable[[Sequence[Phase]], Watch]

# The option of a training that may be instrumented.
OPTION = {"phases": "take the time of each phase; the whole takes a little longer"}


class Unwatched:
    """No clock and no counter: borders are calls of a function that does nothing."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        del phases

    def start(self) -> float:
        """Begin."""
        return time.perf_counter()

    @staticmethod
    def ended(phase: int) -> None:
        """Nothing is taken down."""

    def stop(self, phase: int) -> float:
        """End."""
        del phase
        return time.perf_counter()

    def crossing(self, name: str, call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """The function itself."""
        del name
        return call

    def metrics(self) -> Mapping[str, float]:
        """None."""
        return {}

    def counts(self) -> Mapping[str, int]:
        """None."""
        return {}


class Watched:
    """Reads a monotonic clock at each border, and counts the calls of our module."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._phases = tuple(phases)
        self._nanoseconds = [0] * len(self._phases)
        self._laps = [0] * len(self._phases)
        self._crossings: dict[str, list[int]] = {}
        self._last = 0

    def start(self) -> float:
        """Begin; one reading of the clock begins the loop and its first phase."""
        self._last = time.perf_counter_ns()
        return self._last * 1e-9

    def ended(self, phase: int) -> None:
        """Give the phase what passed since the border before."""
        now = time.perf_counter_ns()
        self._nanoseconds[phase] += now - self._last
        self._laps[phase] += 1
        self._last = now

    def stop(self, phase: int) -> float:
        """End; the last border is the end of the loop."""
        self.ended(phase)
        return self._last * 1e-9

    def crossing(self, name: str, call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """The function with a counter before it. Functions of one name share a counter."""
        counter = self._crossings.setdefault(name, [0])

        def counted(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            counter[0] += 1
            return call(*arguments, **named)

        return counted

    def metrics(self) -> Mapping[str, float]:
        """The seconds of each phase that occurred, as `phase_LAYER_NAME_seconds`."""
        return {
            f"phase_{phase.key}_seconds": passed * 1e-9
            for phase, passed, laps in zip(self._phases, self._nanoseconds, self._laps, strict=True)
            if laps
        }

    def counts(self) -> Mapping[str, int]:
        """How often each phase ended (`laps_LAYER_NAME`), and the calls of each function (`crossings_NAME`)."""
        laps = {
            f"laps_{phase.key}": count for phase, count in zip(self._phases, self._laps, strict=True) if count
        }
        return laps | {f"crossings_{name}": counter[0] for name, counter in self._crossings.items()}


def watch_of(chosen: frozenset[str]) -> MakeWatch:
    """The watch for the options that were chosen."""
    return Watched if "phases" in chosen else Unwatched
