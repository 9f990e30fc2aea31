"""A budget of time for work that is worth doing only while some is left."""

import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Budget:
    """So many minutes from now on."""

    minutes: float
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        object.__setattr__(self, "_ends", time.monotonic() + 60 * self.minutes)

    def rounds(self, seconds: float) -> int:
        """How many times work of so many seconds still fits, one after another."""
        left = self._ends - time.monotonic()
        return 0 if left < seconds else int(left / max(seconds, 1e-3))
