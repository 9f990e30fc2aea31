"""Whether the runner, or its whole machine, stood still: then a window says nothing about the implementation."""

import threading
import time
from dataclasses import dataclass, field

_TICK_SECONDS = 0.05
# A busy machine delays a thread by less than this; Ctrl-Z, a closed lid and a paused virtual machine by more.
_STILL_SECONDS = 1.0
# A clock that goes on while the machine sleeps; without it (macOS) the other one has to do.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass
class Awake:
    """A thread that looks at the clock twenty times a second, and notes when it could not."""

    _stills: list[float] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Awake":
        self._thread = threading.Thread(target=self._watch, name="awake", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def slept_since(self, seconds: float) -> bool:
        """Whether it stood still at any time of the last so many seconds."""
        now = time.clock_gettime(_CLOCK)
        # The thread may not have had its turn since: wait for one tick of it.
        if self._thread is not None and seconds > _STILL_SECONDS:
            self._stop.wait(2 * _TICK_SECONDS)
        return any(still >= now - seconds - _TICK_SECONDS for still in self._stills)

    def _watch(self) -> None:
        last = time.clock_gettime(_CLOCK)
        while not self._stop.wait(_TICK_SECONDS):
            now = time.clock_gettime(_CLOCK)
            if now - last > _STILL_SECONDS:
                self._stills.append(now)
            last = now
